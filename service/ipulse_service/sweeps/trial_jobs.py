"""Adds the jobs of a trial, and repeats those that failed, were cancelled or are deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ipulse_core.errors import IllegalTransition, InvalidInput
from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import store as job_store
from ipulse_service.jobs import submission
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.retry import retrying
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.jobs.submission import ResolvedSpec
from ipulse_service.sweeps import executables, trial_store
from ipulse_service.sweeps.rows import SweepRow, TrialJob, TrialRow


def add(
    transaction: Transaction,
    sweep: SweepRow,
    trial: TrialRow,
    specs: Mapping[int, ResolvedSpec],
    group: Sequence[TrialJob] = (),
) -> None:
    """Adds a job for each seed to a trial of a locked sweep; `group` are those that it has.

    A job that failed is retried; one that cannot be is replaced, and keeps its seed.
    """
    attributes = JobAttributes(tags=(f"trial-{trial.number}",), group=sweep.id)
    options = SchedulingOptions(priority=sweep.definition.priority)
    has = {job.seed: job for job in group}
    for seed, resolved in specs.items():
        former = has.get(seed)
        if former is not None and _is_retried(transaction, sweep, former):
            trial_store.run_again(transaction, former)
            continue
        key, after = executables.shared(transaction, sweep, resolved.value)
        job = submission.store_job(transaction, resolved, options, attributes, after=after)
        if former is None:
            trial_store.add_job(transaction, trial, seed, job, key)
        else:
            trial_store.replace_job(transaction, former, job, key)


def _is_retried(transaction: Transaction, sweep: SweepRow, former: TrialJob) -> bool:
    """Retries a job if it failed; returns whether it runs again."""
    job = None if former.job_pk is None else job_store.find_by_pk(transaction, former.job_pk)
    if job is None or job.state in (JobState.SUCCEEDED, JobState.CANCELLED):
        return False
    try:
        retrying.retry(transaction, job, f"the sweep {sweep.id}")
    except (IllegalTransition, InvalidInput):  # such as one that was imported
        return False
    return True
