"""cancel, delete, stop, pause, resume and retry."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from ipulse.cli.commands.jobs.many_jobs import Change, ChosenJobs, FilteredJobs
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, addressed, with_options
from ipulse.cli.terminal import confirm, emit, jobs_text, say, show
from ipulse.client import Artifact, Connection, JobHandle
from ipulse.client.jobs.batches import BatchVerb
from ipulse_core.errors import Conflict
from ipulse_core.states import JobState

LISTED = 10  # jobs that a question names
_POLL_SECONDS = 0.2


@addressed
@with_options(FilteredJobs)
def cancel(chosen: FilteredJobs, at: Address) -> Exit:
    """Cancel jobs, or all jobs that pass the filters. Jobs that have ended do not change."""
    with at.connect() as connection:
        return chosen.change(
            connection, JobHandle.cancel, _change(connection, "cancel", "cancelled")
        )


@addressed
@with_options(FilteredJobs)
def delete(chosen: FilteredJobs, at: Address) -> Exit:
    """Delete jobs that have ended, or all such jobs that pass the filters, with their files.

    It asks before, and needs --yes where nobody can be asked.
    """
    selection = chosen.selection()
    with at.connect() as connection:
        if selection is None:
            return _delete_named(chosen.named(connection), chosen)
        return chosen.change_found(selection, _change(connection, "delete", "deleted"))


@addressed
@with_options(ChosenJobs)
def pause(chosen: ChosenJobs, at: Address) -> Exit:
    """Pause jobs; a running job writes a checkpoint first."""
    with at.connect() as connection:
        return chosen.change(connection, JobHandle.pause, _change(connection, "pause", "paused"))


@addressed
@with_options(ChosenJobs)
def resume(chosen: ChosenJobs, at: Address) -> Exit:
    """Resume paused jobs from their last checkpoints.

    A job that is named and is still being paused is resumed as soon as it has stopped.
    """
    with at.connect() as connection:
        return chosen.change(connection, _resume, _change(connection, "resume", "resumed"))


@addressed
@with_options(ChosenJobs)
def retry(chosen: ChosenJobs, at: Address) -> Exit:
    """Queue failed jobs again under their ids; they resume from their last checkpoints.

    Attempts and limits of time count anew. Jobs that were cancelled only because of the failure
    wait again, and a trial of a sweep runs again. A job that succeeded or was cancelled is refused:
    `ipulse continue` trains on, and `ipulse clone` submits the spec once more.
    """
    with at.connect() as connection:
        return chosen.change(connection, JobHandle.retry, _change(connection, "retry", "retried"))


@addressed
@with_options(ChosenJobs)
def stop(chosen: ChosenJobs, at: Address) -> Exit:
    """Finish training now and keep the results; the job then succeeds (finished_early).

    The training ends after its present step, is evaluated, and its results are stored. Follow it
    with `ipulse watch`. To end a job without results, or one that waits, cancel it. With --json
    the job is printed; of several jobs, an object with the list `jobs`; with -q, how many jobs
    were asked to finish.
    """
    with at.connect() as connection:
        return chosen.change(
            connection, JobHandle.stop, _change(connection, "finish", "asked to finish")
        )


# The commands in the order of the help.
VERBS: dict[str, Callable[..., Exit]] = {
    "stop": stop,
    "cancel": cancel,
    "pause": pause,
    "resume": resume,
    "retry": retry,
}


def _resume(job: JobHandle) -> JobHandle:
    """Resume a job, after its agent has stopped it if it is being paused."""
    try:
        return job.resume()
    except Conflict:
        state = job.refresh().state
        if state not in (JobState.PAUSING, JobState.PAUSED):
            raise
    if state is JobState.PAUSING:
        say(f"{job.id} is being paused: it is resumed as soon as it has stopped.")
    while job.refresh().state is JobState.PAUSING:
        time.sleep(_POLL_SECONDS)
    return job.resume()  # a second refusal has another reason


def _change(connection: Connection, verb: BatchVerb, done: str) -> Change:
    return Change(verb, done, partial(connection.change_all, verb))


def _delete_named(jobs: Sequence[JobHandle], chosen: FilteredJobs) -> Exit:
    found = [(job, job.artifacts()) for job in jobs]
    lines = [_described(job, files) for job, files in found]
    for job, _ in found:
        if not job.state.is_terminal:
            with suppress(
                Conflict
            ):  # the service refuses what one may not delete with NotPermitted
                job.delete(if_unchanged=True)
            raise Conflict(f"{job.id} is {job.state.value}: cancel it before you delete it")
    confirm("delete", _listed(lines), chosen.yes)
    deleted = []
    for (job, files), line in zip(found, lines, strict=True):
        job.delete()
        size = sum(file.size for file in files)
        deleted.append({"deleted": job.id, "name": job.name, "files": len(files), "bytes": size})
        if not chosen.as_json:
            show(f"deleted {line}")
    if chosen.as_json:
        emit(deleted[0] if len(deleted) == 1 else {"jobs": deleted})
    return Exit.OK


def _described(job: JobHandle, files: Sequence[Artifact]) -> str:
    name = f" {job.name}" if job.name else ""
    size = sum(file.size for file in files)
    return f"{job.id}{name} ({job.state.value}), {len(files)} files, {size:,} bytes"


def _listed(lines: Sequence[str]) -> str:
    """Return one line as it is, and several below their number."""
    if len(lines) == 1:
        return lines[0]
    more = [f"  and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    shown = [f"  {line}" for line in lines[:LISTED]]
    return "\n".join([f"{jobs_text(len(lines))}:", *shown, *more])
