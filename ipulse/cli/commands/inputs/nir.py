"""nir: makes experiments of networks that other simulators exported."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess  # NIR files are read in another process, with NumPy and h5py
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON
from ipulse.cli.terminal import emit, last_line, say, show
from ipulse.install_hint import require_modules
from ipulse.spec import parse_spec, spec_to_json
from ipulse.spec.document.file import read_spec_file
from ipulse.spec.document.yaml_document import yaml
from ipulse_core.errors import InvalidInput, InvalidSpec, IPUlseError, Problem
from ipulse_core.spec.conv_layers import CONV_KINDS
from ipulse_core.worker_faults import errors_name

# Losses by a word of what network.nir says about its logits.
_LOSSES = {
    "mean": "mean_membrane_cross_entropy",
    "largest": "max_membrane_cross_entropy",
    "number": "spike_count_cross_entropy",
}
_MAX_STEPS = 10_000


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
        Literal["exact", "euler", "unscaled"] | None,
        typer.Option(
            help="How the simulator makes decays of time constants. exact: exp(-step / tau); "
            "euler: 1 - step / tau; unscaled: exact, and the input has no factor. [default: "
            "what an IPUlse file says, else exact]",
            show_default=False,
        ),
    ] = None,
    step_ms: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            max=1e6,
            help="Time step of the simulator. [default: what the file says, else 1]",
            show_default=False,
        ),
    ] = None,
    reset: Annotated[
        Literal["zero", "subtract"] | None,
        typer.Option(
            help="What a spike of a LIF or CubaLIF does to its membrane. [default: what an "
            "IPUlse file says, else zero]",
            show_default=False,
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Make a spec and initial weights of a network in a NIR file.

    Without --to, the spec is printed and no weights are written. Upload the weights with
    `ipulse submit SPEC --weights FILE`, or put them into the worker's data directory.
    """
    require_modules(["ipulse_worker", "h5py", "numpy"], "ipulse nir import")
    spec_path, weights = _targets(to)
    options = {"--solver": solver, "--step-ms": step_ms, "--reset": reset, "--weights": weights}
    found = _read(file, options)
    network = dict(found["network"])
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).lstrip("._-")[:100] or "network"
    network["initial"] = {"file": f"{name}.npz" if weights is None else weights.name}
    if weights is not None:
        network["initial"]["sha256"] = hashlib.sha256(weights.read_bytes()).hexdigest()
    try:
        document = _document(found, network, name, base)
        _validate(document, file)
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
        for note in found["notes"]:
            say(f"Note: {note}.")
        if weights is not None:
            say(f"Train it with `ipulse submit {spec_path} --weights {weights}`.")
    return Exit.OK


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


def _read(file: Path, options: dict[str, Any]) -> dict[str, Any]:
    words = [word for name, value in options.items() if value for word in (name, str(value))]
    command = [sys.executable, "-m", "ipulse_worker.nir", str(file), *words]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 (our own module)
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = last_line(done.stderr.decode("utf-8", "replace"))
        raise IPUlseError(f"{file} was not imported: {last or 'the importer ended'}") from None
    if "error" in found:
        detail = f"{file}: {found['error']['message']}"
        raise InvalidInput([Problem("/FILE", found["error"]["code"], detail)], detail)
    return found


def _document(
    found: dict[str, Any], network: dict[str, Any], name: str, base: Path | None
) -> dict[str, Any]:
    if base is not None:
        document = spec_to_json(read_spec_file(base).spec())
        document["network"] = {**document["network"], **network}
        return document
    metadata = found["metadata"]
    steps = metadata.get("steps")
    time: dict[str, Any] = {"step_ms": found["step_ms"]}
    if isinstance(steps, int) and 1 <= steps <= _MAX_STEPS:
        time["steps"] = steps
    shape = found["input_shape"]
    is_image = any(layer.get("kind") in CONV_KINDS for layer in network["layers"])
    is_digits = not is_image or shape == [1, 8, 8]
    if (found["inputs"], found["classes"]) == (64, 10) and is_digits:
        data: dict[str, Any] = {"kind": "digits", **time}
    else:
        sizes = {"channels": found["inputs"], "classes": found["classes"]}
        if is_image:
            sizes["shape"] = shape if len(shape) == 3 else [shape[0], 1, shape[1]]
        data = {"kind": "npz", "name": name, **sizes, "steps": 100, **time}
    logits = str(metadata.get("logits", ""))
    loss = _LOSSES.get(logits.split(" ")[0])
    if network["readout"]["kind"] == "spiking":
        loss = "spike_count_cross_entropy"
    elif "at each step" in logits:
        loss = "step_cross_entropy"
    return {
        "version": 1,
        "name": name,
        "data": data,
        "network": network,
        "training": {"epochs": 10, **({"loss": loss} if loss else {})},
    }


def _validate(document: dict[str, Any], file: Path) -> None:
    try:
        parse_spec(document)
    except InvalidSpec as error:
        raise InvalidSpec(
            error.problems,
            f"{file} was read, and its network does not make a valid spec; a spec of --base may",
        ) from None
