"""compare: a spec's network in every way there is to run it, judged by the reference."""

from __future__ import annotations

import json
import subprocess  # the comparison's process, which imports TensorFlow
import sys
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Annotated, Any, Dict, List, Literal, Optional

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, SpecPath
from ipulse.cli.terminal import emit, say, show, show_table
from ipulse.spec import spec_to_json
from ipulse.spec.file import read_spec_file
from ipulse_core import strict_json
from ipulse_core.errors import IPUlseError, MissingDependency

HEADERS = ("way", "device", "agrees", "spikes apart", "margin", "membrane", "gradient", "seconds")


def compare(
    file: SpecPath,
    samples: Annotated[int, typer.Option(min=1, max=1024, help="Training samples to run.")] = 4,
    steps: Annotated[
        int, typer.Option(min=1, max=10_000, help="Of their first steps, at most so many.")
    ] = 16,
    tiles: Annotated[int, typer.Option(min=1, max=1472, help="Of the emulated IPU.")] = 64,
    device: Annotated[
        Optional[Literal["cpu", "emulator"]], typer.Option(help="Only this one. [default: both]")
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Run a spec's network in several ways, and see whether they agree. 0 if they do, else 1.

    A dense Keras cell, sparse ops in a Keras RNN, and one op for everything, on the CPU and on the
    emulator: by the first weights, on the first samples, without a service. The reference in
    float64 judges spikes, membranes and gradients; docs/explanation/devices.md says how.
    """
    document = spec_to_json(read_spec_file(file).spec())
    options = ["--samples", str(samples), "--steps", str(steps), "--tiles", str(tiles)]
    found = _ask(document, [*options, *(["--device", device] if device else [])])
    if as_json:
        emit(found)
    else:
        _show(found)
    return Exit.OK if found["agree"] else Exit.JOB_FAILED


def _ask(document: Dict[str, Any], options: List[str]) -> Dict[str, Any]:
    command = [sys.executable, "-m", "ipulse_worker.runner.crosscheck", *options]
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as remarks:
        with subprocess.Popen(  # noqa: S603 (our own module, without a shell)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=remarks,
            encoding="utf-8",
        ) as running:
            try:
                found = _converse(running, strict_json.dumps(document))
            except BaseException:
                running.kill()
                raise
        if running.returncode != 0 or not found:
            remarks.seek(0)
            last = (remarks.read().strip() or "it said nothing").splitlines()[-1]
            raise MissingDependency(f"the comparison did not run: {last}")
    if "error" in found:
        raise IPUlseError(found["error"]["message"])
    return found


def _converse(running: subprocess.Popen[str], spec: str) -> Dict[str, Any]:
    """Gives it the spec and says what it is at; returns what it found, or nothing."""
    assert running.stdin is not None  # noqa: S101 - they were asked for as pipes
    assert running.stdout is not None  # noqa: S101
    with suppress(BrokenPipeError), running.stdin as spec_pipe:  # of one that has ended already
        spec_pipe.write(spec)
    found: Dict[str, Any] = {}
    for line in running.stdout:
        said = json.loads(line)
        if "doing" in said:
            say(f"{said['doing']} ...")
        else:
            found = said
    return found


def _show(found: Dict[str, Any]) -> None:
    sizes = " - ".join(f"{size:,}" for size in found["network"])
    spikes = ", ".join(f"{number:,}" for number in found["spikes"])
    show(
        f"{sizes}, {found['samples']} samples of {found['steps']} steps, spikes by layer: {spikes}"
    )
    run = [row for row in found["ways"] if "seconds" in row]
    show_table(HEADERS, [*(_cells(row) for row in run), _limits(found["tolerances"])])
    for row in found["ways"]:
        for word in ("skipped", "failed"):
            if word in row:
                show(f"{row['way']} on {row['device']} {word}: {row[word]}")
    show("They agree." if found["agree"] else "They do not agree.")
    if any(row["device"] == "emulator" for row in run):
        say(f"The emulator had {found['tiles']:,} tiles; its seconds are no IPU's.")


def _cells(row: Dict[str, Any]) -> List[str]:
    agrees = "yes" if row["agrees"] else "NO"
    errors = [_error(row[name]) for name in ("margin", "membrane", "gradient")]
    return [
        row["way"],
        row["device"],
        agrees,
        str(row["differing"]),
        *errors,
        f"{row['seconds']:.2f}",
    ]


def _limits(tolerances: Dict[str, float]) -> List[str]:
    errors = [_error(tolerances[name]) for name in ("margin", "membrane", "gradient")]
    return ["allowed", "", "", "", *errors, ""]


def _error(value: Optional[float]) -> str:
    return "no number" if value is None else f"{value:.1e}"
