"""The results of the jobs of a trial, and what they make of it."""

from __future__ import annotations

from typing import Any

from ipulse.sweeps import SweepConfig
from ipulse_core.states import JobState, Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import ENDED
from ipulse_service.jobs import store as job_store
from ipulse_service.jobs.search.spread import Spread
from ipulse_service.sweeps import results, trial_store
from ipulse_service.sweeps.rows import TrialJob, TrialState

PRUNED = "stopped early by the sweep"  # the message of such a job


def has_ended(job: TrialJob) -> bool:
    """Returns whether the end of a job is not stored yet."""
    return job.state is None and (job.now is None or job.now in ENDED)


def store_job(transaction: Transaction, job: TrialJob, config: SweepConfig) -> TrialJob:
    """Stores the result of a job of a locked sweep if it has ended; returns it as it is then."""
    if not has_ended(job):
        return job
    row = None if job.job_pk is None else job_store.find_by_pk(transaction, job.job_pk)
    if row is not None and not row.state.is_terminal:
        return job._replace(now=row.state.value)  # it was retried at the same moment
    if row is None:
        columns: dict[str, Any] = {"state": "deleted", "message": "the job was deleted"}
    else:
        value, message = results.value_of(transaction, row, config.objective)
        if row.reason is Reason.PRUNED:
            message = PRUNED
        columns = {
            "state": row.state.value,
            "message": message,
            "value": value,
            "run_ms": row.run_ms,
        }
    trial_store.change_job(transaction, job, **columns)
    return job._replace(**columns)


def columns(jobs: list[TrialJob]) -> dict[str, Any]:
    """Returns the columns of a trial after the end of its jobs; failed replicas are named."""
    spread = Spread.of([job.value for job in jobs if job.value is not None])
    failed = [
        f"seed {job.seed} ({job.job_id}): {job.message or job.state}"
        for job in jobs
        if job.value is None
    ]
    if any(job.message == PRUNED for job in jobs):
        state = TrialState.PRUNED
    elif spread:
        state = TrialState.SUCCEEDED
    elif jobs and all(job.state == JobState.CANCELLED.value for job in jobs):
        state = TrialState.CANCELLED
    else:
        state = TrialState.FAILED
    value = spread.mean if spread else None
    return {"state": state.value, "value": value, "message": "; ".join(failed)[:4000]}
