"""watch and logs: follow a job while it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live

from ipulse.cli.called import as_called
from ipulse.cli.display.progress import JobProgress, outcome, style_of
from ipulse.cli.display.waiting import waiting_text, watched_queue
from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import Address, AsJSON, JobId, addressed
from ipulse.cli.terminal import clean, console, emit, say, show, write
from ipulse.client import JobEvent, JobHandle
from ipulse.log_levels import LEVELS, levels_from
from ipulse_core.errors import InvalidInput, Problem

FRAMES_PER_SECOND = 8


@addressed
def watch(
    at: Address,
    job_id: JobId,
    as_json: AsJSON = False,
) -> Exit:
    """Follow a job to its end.

    Shows its state, epoch, loss, accuracy and firing rates. Ctrl-C ends the watching, not the job.
    With --json every event is one line, and the last line is the job at its end.
    """
    with at.connect() as connection:
        return follow(find_newest(connection, job_id), as_json)


@addressed
def logs(
    at: Address,
    job_id: JobId,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for more until the job has ended.")
    ] = False,
    level: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help=f"This level and worse: {', '.join(LEVELS)}."),
    ] = None,
    grep: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Lines in which this is found.")
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Show the log of a job. With --json every line is an event."""
    levels, pattern = levels_from(level), _pattern(grep or "")
    with at.connect() as connection:
        job = find_newest(connection, job_id)
        events = job.watch() if follow else job.events(kinds=["log"])
        attempt: int | None = None
        for event in events:
            if event.kind != "log" or event.fields.get("level", "info") not in levels:
                continue
            if not pattern.search(str(event.fields["message"])):
                continue
            if as_json:
                emit(event.json, indent=0)
                continue
            if event.attempt != attempt and attempt is not None:
                say(f"attempt {event.attempt}:", style="bold")
            attempt = event.attempt
            show(str(event.fields["message"]), style=_level_style(event))
    return Exit.OK


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        problem = Problem("/grep", "invalid_pattern", f"{error}")
        raise InvalidInput([problem], "--grep is no regular expression") from None


def follow(job: JobHandle, as_json: bool) -> Exit:
    """Show a job's events until it has ended; return the exit code for its outcome."""
    try:
        if as_json:
            for event in job.watch():
                emit(event.json, indent=0)
            emit(job.refresh().json, indent=0)
        else:
            show_progress(job, console())
            show(as_called(outcome(job)), style=style_of(job))
    except KeyboardInterrupt:
        say(
            f"\nDetached; the job keeps running. `ipulse watch {job.id}` follows it again, "
            f"`ipulse cancel {job.id}` stops it."
        )
        return Exit.INTERRUPTED
    return Exit.OK if job.succeeded else Exit.JOB_FAILED


def show_progress(job: JobHandle, output: Console) -> JobHandle:
    """Show a job's progress on a console; return the job after its end."""
    progress = JobProgress(job)

    def on_wait(waiting: Mapping[str, Any] | None) -> None:
        reason = waiting_text(waiting, with_start=False)
        if not output.is_terminal and reason and reason != progress.reason_to_wait:
            write(output, f"waits for {clean(waiting_text(waiting))}")
        progress.reason_to_wait, progress.waiting = reason, waiting_text(waiting)

    with (
        _display(progress, output) as update,
        watched_queue(job, lambda: progress.state, on_wait),
    ):
        for event in job.watch():
            update(event)
    return job.refresh()


@contextmanager
def _display(progress: JobProgress, output: Console) -> Iterator[Callable[[JobEvent], object]]:
    if not output.is_terminal:

        def print_line(event: JobEvent) -> None:
            line = progress.take(event)
            if line is not None and progress.is_due(event):
                write(output, line)

        yield print_line
        return
    # The display is made anew for every frame, so that its durations grow between events.
    with Live(
        get_renderable=progress.display, console=output, refresh_per_second=FRAMES_PER_SECOND
    ):
        yield progress.take


def _level_style(event: JobEvent) -> str:
    return {"warning": "yellow", "error": "red"}.get(str(event.fields.get("level")), "")
