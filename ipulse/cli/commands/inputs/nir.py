"""nir: makes experiments of networks that other simulators exported."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess  # NIR files are read in another process, with NumPy and h5py
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON
from ipulse.cli.terminal import emit, last_line, say, show
from ipulse.install_hint import require_modules
from ipulse.nir_errors import NirAmbiguous, NirInvalid, check_result
from ipulse.spec import parse_spec, spec_to_json
from ipulse.spec.document.file import read_spec_file
from ipulse.spec.document.yaml_document import yaml
from ipulse.spec.nir_document import name_from, nir_document
from ipulse_core.errors import InvalidInput, InvalidSpec, IPUlseError, Problem
from ipulse_core.spec.nir_writers import FLAGS, ResetName, SolverName, WriterName
from ipulse_core.worker_faults import errors_name


def import_nir(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A NIR file.", show_default=False),
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", "-o", metavar="SPEC", help="Spec to write, with its weights next to it."
        ),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(metavar="SPEC", help="Spec with the data, training and device to use."),
    ] = None,
    solver: Annotated[
        SolverName | None,
        typer.Option(
            help="How the simulator makes decays of time constants. exact: exp(-step / tau); "
            "euler: 1 - step / tau; unscaled: exact, and the input has no factor. [default: "
            "that of the writer]",
            show_default=False,
        ),
    ] = None,
    step_ms: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            max=1e6,
            help="Time step of the simulator. [default: that of the file or the writer]",
            show_default=False,
        ),
    ] = None,
    reset: Annotated[
        ResetName | None,
        typer.Option(
            help="What a spike of a LIF, CubaLIF or IF does to its membrane, in the same step or "
            "later, one step after. [default: that of the writer]",
            show_default=False,
        ),
    ] = None,
    writer: Annotated[
        WriterName | None,
        typer.Option(
            "--from",
            help="Program that wrote the file; nir: any that solves NIR's equations. [default: "
            "what an IPUlse file says]",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="NPZ",
            help="Recorded spikes to compare with: `inputs` and layers by the names of their "
            "nodes, each [time, samples, neurons]. Where one differs nothing is written.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Make a spec and initial weights of a network in a NIR file.

    Without --to, the spec is printed and no weights are written. Upload the weights with
    `ipulse submit SPEC --weights FILE`, or put them into the worker's data directory.
    """
    require_modules(["h5py", "numpy"], "ipulse nir import", "nir")
    if check is not None:
        require_modules(["ipulse_ops", "ipulse_worker"], "ipulse nir import --check")
    spec_path, weights = _targets(to)
    options = _flags({"writer": writer, "solver": solver, "step_ms": step_ms, "reset": reset})
    found = _read(file, {**options, "--weights": weights}, {"--to": to, "--base": base})
    name = name_from(file.stem)
    try:
        initial = {"file": f"{name}.npz"}
        if weights is not None:
            sha256 = hashlib.sha256(weights.read_bytes()).hexdigest()
            initial = {"file": weights.name, "sha256": sha256}
        document = _document(found, name, initial, base, file)
        checked = [] if check is None else _check(document, found, file, options, check)
        text = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=100)
        if spec_path is not None:
            with errors_name(spec_path), open(spec_path, "x", encoding="utf-8") as output:
                output.write(text)
    except BaseException:
        if weights is not None:
            weights.unlink(missing_ok=True)
        raise
    if as_json:
        emit({"spec": document, "notes": found["notes"], "arrays": found["arrays"]})
    else:
        show(str(spec_path) if spec_path is not None else text.rstrip())
        for note in [*found["notes"], *checked]:
            say(f"Note: {note}.")
        if weights is not None:
            say(f"Train it with `ipulse submit {spec_path} --weights {weights}`.")
    return Exit.OK


def _check(
    document: dict[str, Any],
    found: dict[str, Any],
    file: Path,
    options: dict[str, Any],
    recorded: Path,
) -> list[str]:
    """Return a line for each layer with equal spikes; raise if one has others."""
    with TemporaryDirectory(prefix="ipulse-nir-") as folder:
        spec, weights = Path(folder) / "spec.json", Path(folder) / "weights.npz"
        spec.write_text(json.dumps(spec_to_json(parse_spec(document))), encoding="utf-8")
        _read(file, {**options, "--weights": weights}, {})
        words = [str(spec), str(weights), str(recorded), json.dumps(found["nodes"])]
        result = _run("ipulse_worker.runner.crosscheck.recorded_spikes", words, recorded)
    if "error" in result:
        detail = f"{recorded}: {result['error']}"
        raise InvalidInput([Problem("/check", "check_invalid", detail)], detail)
    different = [layer for layer in result["layers"] if layer["different"]]
    if different:
        problems = [Problem("/check", "spikes_differ", _difference(layer)) for layer in different]
        raise InvalidInput(problems, f"{file} spikes otherwise here than in {recorded}")
    return [
        f"{layer['name']}: all {layer['spikes']:,} spikes are equal" for layer in result["layers"]
    ]


def _difference(layer: dict[str, Any]) -> str:
    step, sample, neuron = layer["first"]
    several = ""
    if layer["most"] > 1:
        several = f"; the recording has up to {layer['most']:g} spikes in a step, and IPUlse one"
    return (
        f"{layer['name']}: {layer['different']:,} values differ, and the recording has "
        f"{layer['spikes']:,} spikes; first step {step}, sample {sample}, neuron {neuron}{several}"
    )


def _targets(to: Path | None) -> tuple[Path | None, Path | None]:
    """Return the paths of spec and weights, which must be new."""
    if to is None:
        return None, None
    spec_path = to if to.suffix in (".yaml", ".yml") else to.with_name(f"{to.name}.yaml")
    weights = spec_path.with_suffix(".npz")
    for path in (spec_path, weights):
        if path.exists():
            detail = f"{path} exists already and was not changed: choose another name"
            raise InvalidInput([Problem("/to", "exists", detail)], detail)
    return spec_path, weights


def _read(file: Path, options: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """Return what the importer printed; kept: other options, for commands in errors."""
    words = [word for name, value in options.items() if value for word in (name, str(value))]
    found = _run("ipulse_core.nir", [str(file), *words], file)
    try:
        check_result(found, "/FILE")
    except NirInvalid as error:
        detail = f"{file}: {error.message}"
        lines = [detail]
        if isinstance(error, NirAmbiguous):
            lines = [
                _command(file, {**_flags(choice.options), **kept}, choice.meaning)
                for choice in error.choices
            ]
        raise InvalidInput([Problem("/FILE", error.code, line) for line in lines], detail) from None
    return found


def _flags(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of an import as those of the command."""
    return {FLAGS[name]: value for name, value in options.items()}


def _run(module: str, words: list[str], file: Path) -> dict[str, Any]:
    """Return the JSON that a module prints."""
    command = [sys.executable, "-m", module, *words]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 (our own module)
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = last_line(done.stderr.decode("utf-8", "replace"))
        raise IPUlseError(f"{file} was not read: {last or 'the program ended'}") from None
    return found


def _command(file: Path, options: dict[str, Any], meaning: str) -> str:
    """Return the command that chooses one meaning of a file."""
    words = [word for name, value in options.items() if value for word in (name, str(value))]
    return f"{shlex.join(['ipulse', 'nir', 'import', str(file), *words])}  # {meaning}"


def _document(
    found: dict[str, Any], name: str, initial: dict[str, str], base: Path | None, file: Path
) -> dict[str, Any]:
    """Return the spec of an imported file."""
    of_base = None
    if base is not None:
        read = read_spec_file(base)
        read.spec()
        of_base = read.value
    try:
        return nir_document(found, name, initial, of_base)
    except InvalidSpec as error:
        raise InvalidSpec(
            error.problems,
            f"{file} was read, and its network does not make a valid spec; a spec of --base may",
        ) from None
