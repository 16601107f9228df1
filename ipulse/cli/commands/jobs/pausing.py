"""stop, pause, resume and retry."""

from __future__ import annotations

from ipulse.cli.commands.jobs.many_jobs import ChosenJobs
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, addressed, with_options


@addressed
@with_options(ChosenJobs)
def pause(chosen: ChosenJobs, at: Address) -> Exit:
    """Pause jobs; a running job writes a checkpoint first."""
    chosen.check()
    with at.connect() as client:
        return chosen.change(client, "paused", client.pause, client.pause_all)


@addressed
@with_options(ChosenJobs)
def resume(chosen: ChosenJobs, at: Address) -> Exit:
    """Resume paused jobs from their last checkpoints."""
    chosen.check()
    with at.connect() as client:
        return chosen.change(client, "resumed", client.resume, client.resume_all)


@addressed
@with_options(ChosenJobs)
def retry(chosen: ChosenJobs, at: Address) -> Exit:
    """Queue failed jobs again under their ids; they resume from their last checkpoints.

    Attempts and limits of time count anew. Jobs that were cancelled only because of the failure
    wait again, and a trial of a sweep runs again. A job that succeeded or was cancelled is refused:
    `ipulse continue` trains on, and `ipulse clone` submits the spec once more.
    """
    chosen.check()
    with at.connect() as client:
        return chosen.change(client, "retried", client.retry, client.retry_all)


@addressed
@with_options(ChosenJobs)
def stop(chosen: ChosenJobs, at: Address) -> Exit:
    """Finish training now and keep the results; the job then succeeds (finished_early).

    The training ends after its present step, is evaluated, and its results are stored. Follow it
    with `ipulse watch`. To end a job without results, or one that waits, cancel it. With --json
    the job is printed; of several jobs, an object with the list `jobs`; with -q, how many jobs
    were asked to finish.
    """
    chosen.check()
    with at.connect() as client:
        return chosen.change(client, "asked to finish", client.finish, client.finish_all)
