"""demo: starts a local stack, trains one experiment over HTTP and downloads its report."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ipulse.cli.called import as_called
from ipulse.cli.commands.jobs.watch import show_progress
from ipulse.cli.display.elapsed import elapsed
from ipulse.cli.display.progress import PHASES, duration, outcome, style_of
from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, DataFolder, Settings
from ipulse.cli.terminal import console, emit, remarks, say, show, show_facts, write
from ipulse.client import Connection, JobHandle
from ipulse.spec import ExperimentSpec
from ipulse.spec.document.example import example_path
from ipulse.spec.document.settings import read_spec

OUTPUT = Path("demo-output")
AGENT_SECONDS = 60.0  # until the agent has checked its machine


@dataclass(frozen=True)
class DemoResult:
    """The demo's job after its end, and its files."""

    job: JobHandle
    folder: Path | None  # None if the job has no files
    report: Path | None  # None if the job ended before it wrote one


@dataclass
class Stopwatch:
    """Measures the seconds of the parts of the demo."""

    seconds: dict[str, float | None] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure the context under this name."""
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 3)


def demo(
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the results. [default: demo-output/ID]"),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Spec to train. [default: examples/digits.yaml]"),
    ] = None,
    settings: Settings = None,
    data: DataFolder = None,
    as_json: AsJSON = False,
) -> Exit:
    """Start a local stack, train an example and download its report.

    The demo uses HTTP, as with a remote service. It downloads nothing from the internet; the first
    run compiles the C++ kernels, which are cached. At the end the stack is stopped, and only the
    results stay. With --json one object is printed at the end, and progress goes to standard error.
    """
    chosen = read_spec(example_path() if spec is None else spec, settings)
    _check_writable(OUTPUT if to is None else to)
    watch = Stopwatch()
    home = Path(tempfile.mkdtemp(prefix="ipulse-demo-"))
    try:
        with watch.part("total"):
            result = _run(chosen, home, data, to, watch, remarks() if as_json else console())
    except KeyboardInterrupt:
        shutil.rmtree(home)
        say("Interrupted; everything is stopped.")
        return Exit.INTERRUPTED
    except Exception:  # the logs of the stack help to explain it
        _keep_logs(home)
        raise
    if result.job.succeeded:
        shutil.rmtree(home)
    else:
        _keep_logs(home)
    if as_json:
        emit(_summary(result, watch))
    else:
        _show(result, watch)
    return Exit.OK if result.job.succeeded else Exit.JOB_FAILED


def _check_writable(folder: Path) -> None:
    """Check, before the training, that the results can be written. Raises OSError."""
    places = (folder, *folder.absolute().parents)
    existing_parent = next(place for place in places if place.exists())
    if not existing_parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing_parent))
    if not os.access(existing_parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(existing_parent))


def _run(
    spec: ExperimentSpec,
    home: Path,
    data: Path | None,
    to: Path | None,
    watch: Stopwatch,
    output: Console,
) -> DemoResult:
    from ipulse.stack.stack import Stack  # other commands need not import it

    stack = Stack(home, environment={} if data is None else {"IPULSE_DATA": str(data)})
    try:
        with watch.part("start"), elapsed("Starting Redis, the service and an agent", output):
            stack.start()
        write(output, f"The service is ready at {stack.url}.")
        with Connection(stack.url, token_file=stack.token_path) as connection:
            _await_agent(connection)
            with watch.part("submit"):
                job = connection.submit(spec)
            ended = show_progress(job, output)
            watch.seconds.update({phase: ended.phase_seconds.get(phase) for phase in PHASES})
            files = job.artifacts()
            folder = OUTPUT / job.id if to is None else to
            if files:
                with (
                    watch.part("download"),
                    elapsed(f"Downloading the results to {folder}", output),
                ):
                    job.download(folder)
    finally:
        with watch.part("stop"):
            stack.stop()
    reports = [folder / file.name for file in files if file.role == "report"]
    return DemoResult(ended, folder if files else None, reports[0] if reports else None)


def _await_agent(connection: Connection) -> None:
    """Wait until the agent has said what it has, so that a spec that needs more is refused."""
    deadline = time.monotonic() + AGENT_SECONDS
    while time.monotonic() < deadline:
        if any(agent.state != "offline" for agent in connection.agents()):
            return
        time.sleep(0.1)


def _summary(result: DemoResult, watch: Stopwatch) -> dict[str, object]:
    job = result.job
    return {
        "job_id": job.id,
        "state": job.state.value,
        "reason": job.reason,
        "message": job.message,
        "accuracy": (job.summary or {}).get("test_accuracy"),
        "seconds": watch.seconds,
        "artifacts": None if result.folder is None else str(result.folder.resolve()),
        "report": None if result.report is None else str(result.report.resolve()),
    }


def _show(result: DemoResult, watch: Stopwatch) -> None:
    parts = [f"{name} {duration(s)}" for name, s in watch.seconds.items() if s is not None]
    show(as_called(outcome(result.job)), style=style_of(result.job))
    show_facts(
        [
            ("seconds", ", ".join(parts)),
            ("artifacts", "" if result.folder is None else str(result.folder)),
            ("report", "" if result.report is None else result.report.resolve().as_uri()),
        ]
    )


def _keep_logs(home: Path) -> None:
    if (home / "logs").exists():
        say(f"The logs of the service and the agent are in {home / 'logs'}.")
    else:  # the stack was not started
        shutil.rmtree(home)
