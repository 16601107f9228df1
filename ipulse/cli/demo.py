"""demo: the whole stack on embedded parts, one experiment over HTTP, its report in a folder."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Dict, Iterator, Optional

import typer
from rich.console import Console

from ipulse.client import Client, Job
from ipulse.spec import ExperimentSpec
from ipulse.spec.example import example_path
from ipulse.spec.file import read_spec_file

from .exits import Exit
from .following import show_progress
from .options import AsJSON
from .progress import PHASES, duration, outcome, style_of
from .terminal import console, emit, remarks, say, show, show_facts, write

OUTPUT = Path("demo-output")


@dataclass(frozen=True)
class Finished:
    """What came of the demo's job."""

    job: Job
    folder: Path
    report: Optional[Path]  # None if the job did not come that far


@dataclass
class Stopwatch:
    """Seconds of the parts of the demo, by name, in the order in which they ended."""

    seconds: Dict[str, Optional[float]] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 3)


def demo(
    to: Annotated[
        Optional[Path],
        typer.Option(metavar="DIR", help="Folder for the results. [default: demo-output/ID]"),
    ] = None,
    spec: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE", help="Another spec. [default: examples/digits.yaml]"),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Start a stack, train the example, fetch its report.

    Everything goes over HTTP as it would with a remote service. Nothing is left running and
    nothing but the results is kept. With --json one object is printed at the end, and progress
    goes to standard error.
    """
    chosen = read_spec_file(example_path() if spec is None else spec).spec()
    _check_can_be_made(OUTPUT if to is None else to)
    watch = Stopwatch()
    home = Path(tempfile.mkdtemp(prefix="ipulse-demo-"))
    try:
        with watch.part("total"):
            finished = _run(chosen, home, to, watch, remarks() if as_json else console())
    except KeyboardInterrupt:
        shutil.rmtree(home)
        say("Interrupted; everything is stopped.")
        return Exit.INTERRUPTED
    except Exception:  # whatever it was, its logs explain it
        _keep_logs(home)
        raise
    if finished.job.succeeded:
        shutil.rmtree(home)
    else:
        _keep_logs(home)
    if as_json:
        emit(_summary(finished, watch))
    else:
        _show(finished, watch)
    return Exit.OK if finished.job.succeeded else Exit.JOB_FAILED


def _check_can_be_made(folder: Path) -> None:
    """Before the training, which would be for nothing. Raises OSError."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(there))


def _run(
    spec: ExperimentSpec, home: Path, to: Optional[Path], watch: Stopwatch, output: Console
) -> Finished:
    from ipulse.stack.stack import Stack  # what starts a stack is of no use to the other commands

    stack = Stack(home)
    try:
        with watch.part("start"):
            stack.start()
        write(output, f"The service answers at {stack.url}.")
        with Client(stack.url, token_file=stack.token_path) as client:
            with watch.part("submit"):
                job = client.submit(spec)
            ended = show_progress(client, job, output)
            watch.seconds.update({phase: ended.phase_seconds.get(phase) for phase in PHASES})
            folder = OUTPUT / job.id if to is None else to
            with watch.part("download"):
                client.download(job.id, folder)
            reports = [one.name for one in client.artifacts(job.id) if one.role == "report"]
    finally:
        with watch.part("stop"):
            stack.stop()
    return Finished(ended, folder, folder / reports[0] if reports else None)


def _summary(finished: Finished, watch: Stopwatch) -> Dict[str, object]:
    job = finished.job
    return {
        "job_id": job.id,
        "state": job.state.value,
        "reason": job.reason,
        "message": job.message,
        "accuracy": (job.summary or {}).get("test_accuracy"),
        "seconds": watch.seconds,
        "artifacts": str(finished.folder.resolve()),
        "report": None if finished.report is None else str(finished.report.resolve()),
    }


def _show(finished: Finished, watch: Stopwatch) -> None:
    parts = [f"{name} {duration(s)}" for name, s in watch.seconds.items() if s is not None]
    show(outcome(finished.job), style=style_of(finished.job))
    show_facts(
        [
            ("seconds", ", ".join(parts)),
            ("artifacts", str(finished.folder)),
            ("report", "" if finished.report is None else str(finished.report)),
        ]
    )


def _keep_logs(home: Path) -> None:
    say(f"The logs of service and agent are kept in {home / 'logs'}.")
