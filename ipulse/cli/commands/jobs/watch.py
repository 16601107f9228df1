"""watch and logs: follow a job while it runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from ipulse.cli.options import Address, AsJSON, JobId, JobIds, addressed
from ipulse.cli.terminal import clean, console, emit, minute_text, say, show, write
from ipulse.client import Connection, JobEvent, JobHandle
from ipulse.log_levels import LEVELS, levels_from
from ipulse_core.errors import InvalidInput, Problem

FRAMES_PER_SECOND = 8


@addressed
def watch(
    at: Address,
    job_ids: JobIds = None,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Only wait for the ends of the jobs, for scripts: 0 or 1."
        ),
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="With --quiet: give up after so long, exit code 6."
        ),
    ] = None,
    all_jobs: Annotated[
        bool, typer.Option("--all", help="The states of all jobs that you may read, without end.")
    ] = False,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --all: only jobs of this project.")
    ] = None,
    after: Annotated[
        str, typer.Option(metavar="CURSOR", help="With --all: from this cursor on (see --json).")
    ] = "now",
    as_json: AsJSON = False,
) -> Exit:
    """Follow jobs to their ends, one after the other, or the states of all jobs.

    Shows state, epoch, loss, accuracy and firing rates. Ctrl-C ends the watching, not the job.
    Exit code 0 if all have succeeded, else 1. With --json every event is one line, and the last
    line is the job at its end; with --quiet and --json, one object has the list `jobs`.
    """
    if all_jobs == bool(job_ids):
        raise InvalidInput([Problem("ID", "inconsistent", "name a job, or give --all")])
    if (timeout is not None and not quiet) or (quiet and all_jobs):
        detail = "--timeout needs --quiet, and --quiet the names of jobs"
        raise InvalidInput([Problem("/quiet", "inconsistent", detail)], detail)
    with at.connect() as connection:
        if not job_ids:
            return _follow_all(connection, after, project, as_json)
        jobs = [find_newest(connection, job_id) for job_id in job_ids]
        if quiet:
            return _wait(jobs, timeout, as_json)
        return max(follow(job, as_json) for job in jobs)


def _wait(jobs: Sequence[JobHandle], timeout: float | None, as_json: bool) -> Exit:
    for job in jobs:
        job.wait(timeout, check=False)
        if not as_json:
            show(f"{job.id}  {outcome(job)}", style=style_of(job))
    if as_json:
        emit({"jobs": [job.json for job in jobs]})
    return Exit.OK if all(job.succeeded for job in jobs) else Exit.JOB_FAILED


def _follow_all(connection: Connection, after: str, project: str | None, as_json: bool) -> Exit:
    try:
        for change in connection.watch_all(after, project):
            if as_json:
                emit({**change.event.json, **change.of_job}, indent=0)
                continue
            fields = change.event.fields
            name = change.name or ""
            state = str(fields["state"]) + (f" ({fields['reason']})" if fields["reason"] else "")
            time = minute_text(change.event.time)
            show(f"{time}  {change.job_id}  {name}  {change.owner}  {state}")
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return Exit.OK


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
