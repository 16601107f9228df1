"""watch and logs: what a job does, as it does it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Annotated, Callable, Iterator, Optional

import typer
from rich.console import Console
from rich.live import Live

from ipulse.client import Client, Job, JobEvent

from .exits import Exit
from .options import Address, AsJSON, JobId, addressed
from .progress import Progress, outcome, style_of
from .terminal import console, emit, say, show, write

FRAMES_PER_SECOND = 8


@addressed
def watch(
    at: Address,
    job_id: JobId,
    as_json: AsJSON = False,
) -> Exit:
    """Follow a job to its end.

    Shows its state, epoch, loss, accuracy and firing rates. Ctrl-C stops the watching, not the
    job. With --json every event is one line, and the job as it ended is the last one.
    """
    with at.connect() as client:
        return follow(client, client.get(job_id), as_json)


@addressed
def logs(
    at: Address,
    job_id: JobId,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the job has ended.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """What the job's programs wrote. With --json every line is an event."""
    with at.connect() as client:
        events = client.watch(job_id) if follow else client.events(job_id, kinds=["log"])
        attempt: Optional[int] = None
        for event in events:
            if event.kind != "log":
                continue
            if as_json:
                emit(event.json, indent=0)
                continue
            if event.attempt != attempt and attempt is not None:
                say(f"attempt {event.attempt}:", style="bold")
            attempt = event.attempt
            show(str(event.fields["message"]), style=_level_style(event))
    return Exit.OK


def follow(client: Client, job: Job, as_json: bool) -> Exit:
    """Shows a job's events until it has ended; the exit code says how."""
    try:
        if as_json:
            for event in client.watch(job.id):
                emit(event.json, indent=0)
            ended = client.get(job.id)
            emit(ended.json, indent=0)
        else:
            ended = show_progress(client, job, console())
            show(outcome(ended), style=style_of(ended))
    except KeyboardInterrupt:
        say(
            f"\nDetached; the job goes on. `ipulse watch {job.id}` looks again, "
            f"`ipulse cancel {job.id}` stops it."
        )
        return Exit.INTERRUPTED
    return Exit.OK if ended.succeeded else Exit.JOB_FAILED


def show_progress(client: Client, job: Job, output: Console) -> Job:
    """Shows on a console how a job goes, and returns it as it ended."""
    progress = Progress(job)
    with _display(progress, output) as update:
        for event in client.watch(job.id):
            update(event)
    return client.get(job.id)


@contextmanager
def _display(progress: Progress, output: Console) -> Iterator[Callable[[JobEvent], None]]:
    if not output.is_terminal:

        def tell(event: JobEvent) -> None:
            line = progress.take(event)
            if line is not None and progress.is_due(event):
                write(output, line)

        yield tell
        return
    with Live(progress.picture(), console=output, refresh_per_second=FRAMES_PER_SECOND) as live:

        def draw(event: JobEvent) -> None:
            progress.take(event)
            live.update(progress.picture())

        yield draw


def _level_style(event: JobEvent) -> str:
    return {"warning": "yellow", "error": "red"}.get(str(event.fields.get("level")), "")
