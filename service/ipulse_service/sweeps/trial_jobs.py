"""Adds the jobs of a trial, and repeats those that failed, were cancelled or are deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from ipulse_core.errors import IllegalTransition, InvalidInput
from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs, sweep_jobs, sweep_trials
from ipulse_service.jobs import retry, submission
from ipulse_service.jobs import store as job_store
from ipulse_service.jobs.dependencies import Dependency
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.queue.executables import executable_key
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.jobs.submission import ResolvedSpec
from ipulse_service.quotas import store as quotas
from ipulse_service.sweeps import code_rights, trial_store
from ipulse_service.sweeps.rows import SweepRow, TrialJob, TrialRow

# A job in one of these states has compiled its program.
_COMPILED = (JobState.RUNNING.value, JobState.REPORTING.value, JobState.SUCCEEDED.value)
_ENDED_WITHOUT = (JobState.FAILED.value, JobState.CANCELLED.value)


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
    priority = sweep.definition.priority
    priority = quotas.allowed_priority(transaction, sweep.project, sweep.owner, priority)
    options = SchedulingOptions(priority=priority)
    has = {job.seed: job for job in group}
    for seed, resolved in specs.items():
        former = has.get(seed)
        if former is not None and _is_retried(transaction, sweep, former):
            trial_store.run_again(transaction, former)
            continue
        key, after = shared(transaction, sweep, resolved.value)
        with transaction.acting_for(sweep.rights):
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
        # Only who may submit code repeats trials of a sweep with an op.
        may_submit_code = code_rights.names_op(sweep.definition)
        retry.retry(transaction, job, f"the sweep {sweep.id}", may_submit_code)
    except (IllegalTransition, InvalidInput):  # such as one that was imported
        return False
    return True


def shared(
    transaction: Transaction, sweep: SweepRow, value: dict[str, Any]
) -> tuple[str | None, list[Dependency]]:
    """Returns the key of a new job of a locked sweep, and the job that compiles for it, if any."""
    key = executable_key(value)
    if key is None:
        return None, []
    query = (
        select(jobs.c.id, jobs.c.state)
        .join(sweep_jobs, sweep_jobs.c.job_pk == jobs.c.pk)
        .join(sweep_trials, sweep_trials.c.pk == sweep_jobs.c.trial_pk)
        .where(sweep_trials.c.sweep_pk == sweep.pk, sweep_jobs.c.executable == key)
        .order_by(jobs.c.pk)
    )
    first = None
    for job_id, state in transaction.connection.execute(query):
        if state in _COMPILED:
            return key, []
        if first is None and state not in _ENDED_WITHOUT:
            first = job_id
    return key, [] if first is None else [Dependency(first, "compiled")]
