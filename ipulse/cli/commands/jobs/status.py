"""status: the state and the results of a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ipulse.cli.called import as_called
from ipulse.cli.display.figures import completed, figure, metric_rows
from ipulse.cli.display.progress import (
    duration,
    outcome,
    phase_seconds,
    run_seconds,
    style_of,
    time_left,
)
from ipulse.cli.display.waiting import time_text, waiting_text
from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import Address, AsJSON, JobId, addressed
from ipulse.cli.terminal import emit, show, show_facts
from ipulse.client import JobHandle
from ipulse.times import time_of
from ipulse_core.limits import DEFAULT_POOL
from ipulse_core.numbers import plain_number


@addressed
def status(
    at: Address,
    job_id: JobId,
    as_json: AsJSON = False,
) -> Exit:
    """Show the state, the times and the results of a job. Exit code 0 if the job exists."""
    with at.connect() as connection:
        job = find_newest(connection, job_id)
    if as_json:
        emit(job.json)
        return Exit.OK
    show(as_called(outcome(job)), style=style_of(job))
    show_facts(_facts(job))
    return Exit.OK


def print_job(job: JobHandle, as_json: bool) -> Exit:
    """Print a job as JSON, or its state in a sentence; return OK."""
    if as_json:
        emit(job.json)
    else:
        show(outcome(job), style=style_of(job))
    return Exit.OK


def print_jobs(jobs: Sequence[JobHandle], as_json: bool) -> Exit:
    """Print jobs as `print_job` does; several as JSON are an object with the list `jobs`."""
    if as_json and len(jobs) != 1:
        emit({"jobs": [job.json for job in jobs]})
        return Exit.OK
    for job in jobs:
        print_job(job, as_json)
    return Exit.OK


def _facts(job: JobHandle) -> Iterator[tuple[str, str]]:
    yield "id", job.id
    yield "name", job.name
    yield "device", str(job.json["device"])
    pool = job.json.get("pool", DEFAULT_POOL)
    yield "pool", "" if pool == DEFAULT_POOL else pool
    yield "priority", str(job.json["priority"] or "")
    yield "tags", ", ".join(job.json.get("tags", ()))  # a former service has none
    yield "group", job.json.get("group") or ""
    yield "notes", job.json.get("notes", "")
    yield "created", time_text(job.created_at)
    started = job.json["started_at"]
    yield "started", time_text(time_of(started)) if started else ""
    if job.progress and not job.state.is_terminal:
        yield from _progress_facts(job.progress)
    start = job.json.get("start_from")
    yield "starts from", f"{start['job']} ({start['mode']})" if start else ""
    yield "waits for", waiting_text(job.json.get("waiting_on"))
    seconds = phase_seconds(job)
    if seconds:
        yield "phases", ", ".join(f"{name} {duration(s)}" for name, s in seconds.items())
    if seconds and job.state.is_terminal:  # a phase counts when it has ended
        yield "duration", f"{duration(run_seconds(job))}, without the queue"
    for attempt in job.json["attempts"] if job.attempt > 1 else []:
        how = attempt["reason"] or "running"
        yield f"attempt {attempt['number']}", f"{how} on {attempt['agent']} {attempt['message']}"
    yield from _summary_facts(job)
    for name, value in job.json["metadata"].items():
        yield f"metadata {name}", str(value)


def _progress_facts(progress: dict[str, Any]) -> Iterator[tuple[str, str]]:
    words = [f"epoch {progress['epoch']:,} of {progress['epochs']:,}"]
    words.append(f"step {progress['step']:,} of {progress['steps']:,}")
    if progress.get("eta_seconds"):
        words.append(time_left(progress["eta_seconds"]))
    yield "progress", ", ".join(words)
    for split, figures, scope in metric_rows(progress):
        yield split, f"{figures}  ({scope})"


def _summary_facts(job: JobHandle) -> Iterator[tuple[str, str]]:
    summary = job.summary or {}
    held_out = completed(job.progress)["held_out"] if job.progress else "test"
    epoch = f"epoch {summary['kept_epoch']:,.0f}" if "kept_epoch" in summary else ""
    for name, value in summary.items():
        if name in ("test_accuracy", "test_mae", "test_r2", "test_loss"):
            yield f"{held_out} {name.removeprefix('test_')}", _scoped(name, value, epoch)
        elif name in ("validation_accuracy", "validation_mae", "validation_loss"):
            yield name.replace("_", " "), _scoped(name, value, epoch)
        elif name in ("accuracy", "mae", "loss"):
            yield f"training {name}", _scoped(name, value, epoch and f"mean of {epoch}")
        elif name != "seconds" and not name.endswith("_seconds"):  # they are among the phases
            yield name.replace("_", " "), plain_number(value)


def _scoped(name: str, value: float, scope: str) -> str:
    return figure(name, value) + (f"  ({scope})" if scope else "")
