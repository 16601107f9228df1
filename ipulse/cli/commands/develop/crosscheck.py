"""crosscheck: a spec's network on several back ends, compared with the reference."""

from __future__ import annotations

import json
import subprocess  # the cross-check runs in another process, which imports TensorFlow
import sys
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Annotated, Any, Literal

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, SpecPath
from ipulse.cli.tables import show_table
from ipulse.cli.terminal import emit, last_line, say, show
from ipulse.install_hint import require_modules
from ipulse.spec import spec_to_json
from ipulse.spec.document.file import read_spec_file
from ipulse_core import strict_json
from ipulse_core.errors import IPUlseError, MissingDependency

HEADERS = (
    "back end",
    "device",
    "agrees",
    "differing spikes",
    "margin",
    "membrane",
    "gradient",
    "seconds",
)


def crosscheck(
    file: SpecPath,
    samples: Annotated[int, typer.Option(min=1, max=1024, help="Training samples to run.")] = 4,
    steps: Annotated[
        int, typer.Option(min=1, max=10_000, help="Time steps to run of each sample, at most.")
    ] = 16,
    tiles: Annotated[int, typer.Option(min=1, max=1472, help="Tiles of the emulated IPU.")] = 64,
    device: Annotated[
        Literal["cpu", "emulator"] | None,
        typer.Option(help="Run on this device only. [default: both]"),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Run a spec's network on several back ends and check that they agree.

    The back ends are a dense Keras cell, sparse ops in a Keras RNN and one op for the whole
    network, each on the CPU and on the emulator. Each runs the initial weights on the first
    samples, without a service; spikes, membranes and gradients are compared with the float64
    reference implementation (docs/explanation/devices.md). Exit code 0: they agree; 1: they do not.
    """
    document = spec_to_json(read_spec_file(file).spec())
    require_modules(["ipulse_worker", "tensorflow"], "ipulse crosscheck")
    options = ["--samples", str(samples), "--steps", str(steps), "--tiles", str(tiles)]
    report = _run(document, [*options, *(["--device", device] if device else [])])
    if as_json:
        emit(report)
    else:
        _show(report)
    return Exit.OK if report["agree"] else Exit.JOB_FAILED


def _run(document: dict[str, Any], options: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "ipulse_worker.runner.crosscheck", *options]
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(  # noqa: S603 (our own module, without a shell)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
        ) as running:
            try:
                report = _exchange(running, strict_json.dumps(document))
            except BaseException:
                running.kill()
                raise
        if running.returncode != 0 or not report:
            errors.seek(0)
            last = last_line(errors.read())
            raise MissingDependency(f"the cross-check did not run: {last}")
    if "error" in report:
        raise IPUlseError(report["error"]["message"])
    return report


def _exchange(running: subprocess.Popen[str], spec: str) -> dict[str, Any]:
    """Send the spec and show progress; return the report, empty if there is none."""
    assert running.stdin is not None  # noqa: S101 - opened as pipes
    assert running.stdout is not None  # noqa: S101
    with suppress(BrokenPipeError), running.stdin as spec_pipe:  # it may have ended already
        spec_pipe.write(spec)
    report: dict[str, Any] = {}
    for line in running.stdout:
        message = json.loads(line)
        if "doing" in message:
            say(f"{message['doing']} ...")
        else:
            report = message
    return report


def _show(report: dict[str, Any]) -> None:
    sizes = " - ".join(f"{size:,}" for size in report["network"])
    spikes = ", ".join(f"{number:,}" for number in report["spikes"])
    show(
        f"{sizes}, {report['samples']} samples of {report['steps']} steps, "
        f"spikes by layer: {spikes}"
    )
    run = [row for row in report["ways"] if "seconds" in row]
    show_table(HEADERS, [*(_cells(row) for row in run), _limits(report["tolerances"])])
    for row in report["ways"]:
        for status in ("skipped", "failed"):
            if status in row:
                show(f"{row['way']} on {row['device']} {status}: {row[status]}")
    for note in report["notes"]:
        show(f"Note: {note}.")
    show("They agree." if report["agree"] else "They do not agree.")
    if any(row["device"] == "emulator" for row in run):
        say(f"The emulator had {report['tiles']:,} tiles; its times are not those of an IPU.")


def _cells(row: dict[str, Any]) -> list[str]:
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


def _limits(tolerances: dict[str, float]) -> list[str]:
    errors = [_error(tolerances[name]) for name in ("margin", "membrane", "gradient")]
    return ["allowed", "", "", "", *errors, ""]


def _error(value: float | None) -> str:
    return "not a number" if value is None else f"{value:.1e}"
