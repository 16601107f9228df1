"""Brings a sweep forward: stores results of ended jobs, and begins trials.

One call is one transaction, which locks the sweep. A trial and its jobs are stored with the number
of the next trial, so that a crash at any point neither loses nor repeats a trial.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ipulse.sweeps import SweepConfig
from ipulse_core.errors import InvalidInput
from ipulse_core.states import JobState, Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import store as job_store
from ipulse_service.jobs import submission
from ipulse_service.jobs.job import ENDED
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.jobs.search.spread import Spread
from ipulse_service.jobs.submission import ResolvedSpec
from ipulse_service.sweeps import executables, proposals, results, store, trial_store
from ipulse_service.sweeps.proposals import Proposal
from ipulse_service.sweeps.rows import (
    SweepReason,
    SweepRow,
    SweepState,
    TrialJob,
    TrialRow,
    TrialState,
)

JOBS_AT_ONCE = 25  # that one transaction adds, so that other writers need not wait for long
PRUNED = "stopped early by the sweep"  # the message of such a job
MAX_FAILED = 10  # trials in a row, after which a sweep stops


def advance(transaction: Transaction, pk: int, proposal: Proposal | None = None) -> bool:
    """Brings a sweep forward; returns whether it can go on at once.

    A method that learns needs a proposal. A sweep that another replica has locked is left alone.
    """
    sweep = store.lock_or_skip(transaction, pk)
    if sweep is None or sweep.state is SweepState.ENDED:
        return False
    config = sweep.definition
    sweep, running = _store_results(transaction, sweep, config)
    sweep = _apply_limits(transaction, sweep, config)
    added = 0
    while sweep.state is SweepState.RUNNING and sweep.next_trial <= sweep.trials:
        if running >= sweep.parallel or added >= JOBS_AT_ONCE:
            break
        chosen = _chosen(config, sweep.next_trial, proposal)
        if chosen is None:
            break
        jobs = _begin(transaction, sweep, config, chosen)
        sweep = store.change(transaction, sweep, next_trial=sweep.next_trial + 1)
        added += max(1, jobs)
        running += 1 if jobs else 0
        if not jobs:
            sweep = _apply_limits(transaction, sweep, config)
    may_begin = sweep.state is SweepState.RUNNING and sweep.next_trial <= sweep.trials
    is_over = sweep.state is SweepState.STOPPING or sweep.next_trial > sweep.trials
    if not running and is_over:
        _end(transaction, sweep)
    return may_begin and running < sweep.parallel


def is_due(transaction: Transaction, pk: int) -> bool:
    """Returns whether `advance` would change a sweep; without a lock."""
    sweep = store.peek(transaction, pk)
    if sweep is None or sweep.state is SweepState.ENDED:
        return False
    running = trial_store.trials(transaction, sweep, [TrialState.RUNNING])
    jobs = trial_store.jobs_of(transaction, running)
    if any(_has_ended(job) for group in jobs.values() for job in group):
        return True
    if sweep.state is SweepState.RUNNING and sweep.next_trial <= sweep.trials:
        limit = sweep.definition.limits.run_seconds
        is_over = limit is not None and transaction.now >= sweep.created_at + limit * 1000
        return is_over or len(running) < sweep.parallel
    return not running and (sweep.state is not SweepState.PAUSED or sweep.next_trial > sweep.trials)


def may_begin(transaction: Transaction, sweep: SweepRow) -> bool:
    """Returns whether a sweep may begin a trial, for which it needs a proposal."""
    if sweep.state is not SweepState.RUNNING or sweep.next_trial > sweep.trials:
        return False
    return len(trial_store.trials(transaction, sweep, [TrialState.RUNNING])) <= sweep.parallel


def _has_ended(job: TrialJob) -> bool:
    """Returns whether the end of a job is not stored yet."""
    return job.state is None and (job.now is None or job.now in ENDED)


def _store_results(
    transaction: Transaction, sweep: SweepRow, config: SweepConfig
) -> tuple[SweepRow, int]:
    """Stores the results of ended jobs and trials.

    Returns the sweep, and how many of its trials are running still.
    """
    running = trial_store.trials(transaction, sweep, [TrialState.RUNNING])
    jobs = trial_store.jobs_of(transaction, running)
    left = len(running)
    for trial in running:
        group = [_store_job(transaction, job, config) for job in jobs[trial.pk]]
        if _needs_more_seeds(config, group):
            specs = proposals.specs_of(config, json.loads(trial.parameters))
            rest = dict(list(specs.items())[1:])
            _add_jobs(transaction, sweep, config, trial, rest)
        elif all(job.state is not None for job in group):
            trial_store.change_trial(
                transaction, trial, **_ended(group), finished_at=transaction.now
            )
            left -= 1
    if left != len(running):
        sweep = store.change(transaction, sweep)
    return sweep, left


def _needs_more_seeds(config: SweepConfig, group: list[TrialJob]) -> bool:
    """Returns whether the first seed has ended, was not stopped early, and runs alone so far."""
    if len(group) != 1 or len(config.seeds) < 2:
        return False
    return group[0].value is not None and group[0].message != PRUNED


def _store_job(transaction: Transaction, job: TrialJob, config: SweepConfig) -> TrialJob:
    if not _has_ended(job):
        return job
    row = None if job.job_pk is None else job_store.find_by_pk(transaction, job.job_pk)
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
            "run_ms": results.run_ms(row),
        }
    trial_store.change_job(transaction, job, **columns)
    return job._replace(**columns)


def _ended(jobs: list[TrialJob]) -> dict[str, Any]:
    """Returns the columns of a trial whose jobs have all ended; failed replicas are named."""
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
    elif all(job.state == JobState.CANCELLED.value for job in jobs):
        state = TrialState.CANCELLED
    else:
        state = TrialState.FAILED
    value = spread.mean if spread else None
    return {"state": state.value, "value": value, "message": "; ".join(failed)[:4000]}


def _apply_limits(transaction: Transaction, sweep: SweepRow, config: SweepConfig) -> SweepRow:
    """Stops a sweep that has reached a limit; its running trials go on."""
    if sweep.state is not SweepState.RUNNING:
        return sweep
    reason = _limit_reached(transaction, sweep, config)
    message = ""
    last = trial_store.last_states(transaction, sweep, MAX_FAILED)
    if len(last) == MAX_FAILED and set(last) == {TrialState.FAILED.value}:
        reason = SweepReason.TRIALS_FAILED
        message = f"{MAX_FAILED} trials in a row failed; the messages of the trials say why."
    if reason is None:
        return sweep
    state = SweepState.STOPPING.value
    return store.change(transaction, sweep, state=state, reason=reason.value, message=message)


def _limit_reached(
    transaction: Transaction, sweep: SweepRow, config: SweepConfig
) -> SweepReason | None:
    limits, objective = config.limits, config.objective
    seconds, hours = limits.run_seconds, limits.device_hours
    if seconds is not None and transaction.now >= sweep.created_at + seconds * 1000:
        return SweepReason.TIME_LIMIT
    if hours is not None and trial_store.run_ms(transaction, sweep) >= hours * 3_600_000:
        return SweepReason.DEVICE_LIMIT
    if limits.target is not None:
        best = trial_store.best(transaction, sweep, objective.goal)
        value = best.value if best else None
        if value is not None and not objective.is_better(limits.target, value):
            return SweepReason.TARGET_REACHED
    return None


def _chosen(config: SweepConfig, number: int, proposal: Proposal | None) -> Proposal | None:
    """Returns the proposal of a trial, None if there is none yet."""
    if config.method == "tpe":
        return proposal if proposal and proposal.number == number else None
    return Proposal(number, proposals.parameters_of(config, number))


def _begin(
    transaction: Transaction, sweep: SweepRow, config: SweepConfig, proposal: Proposal
) -> int:
    """Adds the next trial with its jobs; returns how many. A trial that cannot run has failed."""
    try:
        specs = proposals.specs_of(config, proposal.parameters)
        for resolved in specs.values():
            submission.check_admission(transaction, resolved)
    except InvalidInput as error:
        message = "; ".join(str(problem) for problem in error.problems)[:4000]
        trial_store.add_trial(transaction, sweep, proposal, TrialState.FAILED, message)
        return 0
    trial = trial_store.add_trial(transaction, sweep, proposal)
    if config.stopping is not None:  # only the first seed can be stopped early
        specs = dict(list(specs.items())[:1])
    _add_jobs(transaction, sweep, config, trial, specs)
    return len(specs)


def _add_jobs(
    transaction: Transaction,
    sweep: SweepRow,
    config: SweepConfig,
    trial: TrialRow,
    specs: Mapping[int, ResolvedSpec],
) -> None:
    attributes = JobAttributes(tags=(f"trial-{trial.number}",), group=sweep.id)
    options = SchedulingOptions(priority=config.priority)
    for seed, resolved in specs.items():
        key, after = executables.shared(transaction, sweep, resolved.value)
        job = submission.store_job(transaction, resolved, options, attributes, after=after)
        trial_store.add_job(transaction, trial, seed, job, key)


def _end(transaction: Transaction, sweep: SweepRow) -> None:
    columns: dict[str, Any] = {"state": SweepState.ENDED.value, "finished_at": transaction.now}
    if sweep.reason is None:
        columns["reason"] = SweepReason.COMPLETED.value
    store.change(transaction, sweep, **columns)
