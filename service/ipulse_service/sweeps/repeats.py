"""Runs trials of a sweep again, under their numbers, when their jobs are retried."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select, update

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import sweep_jobs, sweep_trials
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.retry import retrying
from ipulse_service.sweeps import store
from ipulse_service.sweeps.rows import SweepRow, SweepState, TrialState


def retry_job(transaction: Transaction, job: JobRow, retried_by: str) -> JobRow:
    """Retries a locked job, and makes its trial run again if it belongs to a sweep.

    Raises what `retrying.retry` raises.
    """
    revived = retrying.retry(transaction, job, retried_by)
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
    transaction.connection.execute(forgotten.values(state=None, message="", value=None))
    reopen(transaction, {row.trial_pk for row in found})
    for sweep_pk in sorted({row.sweep_pk for row in found}):
        _go_on(transaction, sweep_pk)


def reopen(transaction: Transaction, trial_pks: Collection[int]) -> None:
    """Makes trials run again."""
    this = update(sweep_trials).where(sweep_trials.c.pk.in_(trial_pks))
    values = {"state": TrialState.RUNNING.value, "finished_at": None, "value": None, "message": ""}
    transaction.connection.execute(this.values(values))


def _go_on(transaction: Transaction, sweep_pk: int) -> None:
    """Makes a sweep wait for its trials again.

    Its jobs are locked before it here, and after it where it is brought forward. The latter locks
    no job of a sweep that has ended, so that only such a sweep is waited for.
    """
    sweep = store.lock_or_skip(transaction, sweep_pk)
    seen = sweep or store.peek(transaction, sweep_pk)
    if sweep is None and seen is not None and seen.state is SweepState.ENDED:
        sweep = store.get(transaction, seen.id)
    if sweep is not None:
        store.change(transaction, sweep, **continued(transaction, sweep))


def continued(transaction: Transaction, sweep: SweepRow) -> dict[str, object]:
    """Returns the columns of a sweep of which some trials run again.

    One that ended before all its trials had begun does not begin the others.
    """
    if sweep.state is not SweepState.ENDED:
        return {}
    if sweep.next_trial > sweep.trials:
        return store.continued(transaction)
    return {"state": SweepState.STOPPING.value, "finished_at": None}
