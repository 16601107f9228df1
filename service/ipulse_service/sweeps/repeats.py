"""Runs trials of a sweep again, under their numbers, when their jobs are retried."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, and_, exists, or_, select, true, update

from ipulse_core.errors import Conflict, InvalidInput, Problem
from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import sweep_jobs, sweep_trials
from ipulse_service.jobs import retry
from ipulse_service.jobs.job import JobRow
from ipulse_service.sweeps import limits, store
from ipulse_service.sweeps.rows import SweepReason, SweepRow, SweepState, TrialState


class NothingToRepeat(Conflict):
    """No job of the sweep is of those to repeat."""

    code = "nothing_to_repeat"


def retry_job(transaction: Transaction, job: JobRow, retried_by: str) -> JobRow:
    """Retries a locked job, and makes its trial run again if it belongs to a sweep.

    Raises what `retry.retry` raises.
    """
    revived = retry.retry(transaction, job, retried_by)
    if not revived:
        return job
    _reopen_trials(transaction, revived)
    return revived[0]


def _reopen_trials(transaction: Transaction, revived: Sequence[JobRow]) -> None:
    """Forgets the stored results of jobs that run again; their trials and sweeps wait for them."""
    query = (
        select(sweep_jobs.c.trial_pk, sweep_jobs.c.job_pk, sweep_trials.c.sweep_pk)
        .join(sweep_trials, sweep_trials.c.pk == sweep_jobs.c.trial_pk)
        .where(
            sweep_jobs.c.job_pk.in_([job.pk for job in revived]), sweep_jobs.c.state.is_not(None)
        )
    )
    found = transaction.connection.execute(query).all()
    forgotten = update(sweep_jobs).where(sweep_jobs.c.job_pk.in_([row.job_pk for row in found]))
    if not found:
        return
    values = {"state": None, "message": "", "value": None, "repeats": False}
    transaction.connection.execute(forgotten.values(values))
    _reopen(transaction, sweep_trials.c.pk.in_({row.trial_pk for row in found}))
    for sweep_pk in sorted({row.sweep_pk for row in found}):
        # Elsewhere a sweep is locked before its jobs, so it is not waited for here. One that ends
        # at this moment, or is locked, is reopened by `progress.advance`, since a trial runs.
        sweep = store.lock_or_skip(transaction, sweep_pk)
        if sweep is not None:
            store.change(transaction, sweep, **store.reopened(transaction, sweep))


def repeat(
    transaction: Transaction,
    sweep: SweepRow,
    failed: bool = False,
    deleted: bool = False,
    numbers: Collection[int] = (),
) -> SweepRow:
    """Repeats jobs of a locked sweep under their numbers: failed and deleted ones, or of trials.

    Of the trials with these numbers, all jobs that failed, were cancelled or are deleted. The jobs
    begin as trials do, so many at the same time. Raises Conflict for a sweep that stops or has
    used its device hours, InvalidInput for a trial that has not begun, and NothingToRepeat.
    """
    if sweep.state is SweepState.STOPPING:
        raise Conflict("the sweep stops: retry it when it has ended")
    _check_begun(sweep, numbers)
    of_sweep = sweep_trials.c.sweep_pk == sweep.pk
    is_failed = sweep_jobs.c.state == JobState.FAILED.value
    is_deleted = sweep_jobs.c.job_pk.is_(None)
    is_cancelled = sweep_jobs.c.state == JobState.CANCELLED.value
    trials = select(sweep_trials.c.pk).where(of_sweep)
    of_numbers = trials.where(sweep_trials.c.number.in_(numbers))
    wanted = or_(
        *([is_failed] if failed else []),
        *([is_deleted] if deleted else []),
        and_(or_(is_failed, is_deleted, is_cancelled), sweep_jobs.c.trial_pk.in_(of_numbers)),
    )
    jobs = update(sweep_jobs).where(sweep_jobs.c.trial_pk.in_(trials), wanted)
    count = transaction.connection.execute(jobs.values(repeats=True)).rowcount
    # A trial without a job was refused when it began.
    chosen = true() if failed else sweep_trials.c.number.in_(numbers)
    is_empty = ~exists().where(sweep_jobs.c.trial_pk == sweep_trials.c.pk)
    is_refused = and_(chosen, is_empty, sweep_trials.c.state == TrialState.FAILED.value)
    repeated = select(sweep_jobs.c.trial_pk).where(sweep_jobs.c.repeats.is_(True))
    count += _reopen(transaction, of_sweep & is_refused)
    _reopen(transaction, of_sweep & sweep_trials.c.pk.in_(repeated))
    if not count:
        raise NothingToRepeat(_nothing(failed, deleted, numbers))
    _check_hours(transaction, sweep)
    return store.change(transaction, sweep, **store.reopened(transaction, sweep))


def _nothing(failed: bool, deleted: bool, numbers: Collection[int]) -> str:
    """Returns which jobs the sweep does not have, and how to repeat others."""
    of_trials = (
        f"of trial {', '.join(map(str, sorted(numbers)))} failed, was cancelled or is deleted"
    )
    sought = [
        *(["failed"] if failed else []),
        *(["is deleted"] if deleted else []),
        *([of_trials] if numbers else []),
    ]
    return (
        f"no job of the sweep {' or '.join(sought)}: `ipulse sweep show` lists all; --deleted "
        "repeats deleted jobs, and --trial N also those of a trial that were cancelled"
    )


def _reopen(transaction: Transaction, which: ColumnElement[bool]) -> int:
    """Makes trials run again; returns how many."""
    values = {"state": TrialState.RUNNING.value, "finished_at": None, "value": None, "message": ""}
    return transaction.connection.execute(update(sweep_trials).where(which).values(values)).rowcount


def _check_begun(sweep: SweepRow, numbers: Collection[int]) -> None:
    unknown = sorted(number for number in numbers if not 0 < number < sweep.next_trial)
    if unknown:
        detail = f"{sweep.next_trial - 1:,} trials have begun; got {unknown[0]:,}"
        raise InvalidInput([Problem("/query/trial", "out_of_range", detail)])


def _check_hours(transaction: Transaction, sweep: SweepRow) -> None:
    """Raises LimitReached if the sweep has used its device hours."""
    if limits.reached(transaction, sweep) is SweepReason.DEVICE_LIMIT:
        limits.check_continued(transaction, sweep, sweep._replace(state=SweepState.RUNNING))
