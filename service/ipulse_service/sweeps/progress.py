"""Brings a sweep forward: stores results of ended jobs, and begins trials.

One call is one transaction, which locks the sweep. A trial and its jobs are stored with the number
of the next trial, so that a crash at any point neither loses nor repeats a trial.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ipulse.sweeps import SweepConfig
from ipulse_core.errors import InvalidInput
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import submission
from ipulse_service.jobs.submission import ResolvedSpec
from ipulse_service.quotas import store as quotas
from ipulse_service.sweeps import (
    limits,
    proposals,
    seeds,
    store,
    trial_end,
    trial_jobs,
    trial_store,
)
from ipulse_service.sweeps.rows import (
    Proposal,
    SweepReason,
    SweepRow,
    SweepState,
    TrialJob,
    TrialRow,
    TrialState,
)

# One transaction adds so many jobs, and no more after so many bytes of specs, so that other writers
# need not wait for long. Further seeds of a trial follow in later transactions.
JOBS_AT_ONCE = 25
BYTES_AT_ONCE = 2**21
MAX_FAILED = 10  # trials in a row, after which a sweep stops


def advance(transaction: Transaction, pk: int, proposal: Proposal | None = None) -> bool:
    """Brings a sweep forward; returns whether it can continue at once.

    A method that learns needs a proposal. A sweep that another replica has locked is left alone.
    """
    sweep = store.lock_or_skip(transaction, pk)
    if sweep is None:
        return False
    if sweep.state is SweepState.ENDED:
        if not trial_store.trials(transaction, sweep, [TrialState.RUNNING]):
            return False
        sweep = store.change(transaction, sweep, **store.reopened(transaction, sweep))
    config = sweep.definition
    sweep, left, running = _store_results(transaction, sweep, config)
    sweep = _apply_limits(transaction, sweep)
    added = size = 0
    while sweep.state is SweepState.RUNNING and sweep.next_trial <= sweep.trials:
        if running >= sweep.parallel or added >= JOBS_AT_ONCE or size >= BYTES_AT_ONCE:
            break
        if not quotas.has_room(transaction, sweep.project, sweep.owner, 1):
            return False  # it goes on when other jobs have started
        chosen = _chosen(config, sweep.next_trial, proposal)
        if chosen is None:
            break
        specs = _begin(transaction, sweep, config, chosen)
        sweep = store.change(transaction, sweep, next_trial=sweep.next_trial + 1)
        added += max(1, len(specs))
        size += _size(specs)
        running += 1 if specs else 0
        left += 1 if specs else 0
        if not specs:
            sweep = _apply_limits(transaction, sweep)
    may_begin = sweep.state is SweepState.RUNNING and sweep.next_trial <= sweep.trials
    is_over = sweep.state is SweepState.STOPPING or sweep.next_trial > sweep.trials
    if not left and is_over:
        _end(transaction, sweep)
    return may_begin and running < sweep.parallel


def is_due(transaction: Transaction, pk: int) -> bool:
    """Returns whether `advance` would change a sweep; without a lock."""
    sweep = store.peek(transaction, pk)
    if sweep is None:
        return False
    running = trial_store.trials(transaction, sweep, [TrialState.RUNNING])
    if sweep.state is SweepState.ENDED:
        return bool(running)  # a job was retried while the sweep ended
    groups = trial_store.jobs_of(transaction, running)
    if any(trial_end.has_ended(job) for group in groups.values() for job in group):
        return True
    due = seeds.due(sweep, sweep.definition, groups)
    for trial in running:
        if trial.pk not in due:
            continue
        if not seeds.is_open(groups[trial.pk]):
            return True
        specs = _specs_of_seeds(sweep, sweep.definition, trial, groups[trial.pk])
        if _refusal(transaction, sweep, specs) is None:  # else it ends with the jobs that it has
            return True
    if sweep.state is SweepState.RUNNING and sweep.next_trial <= sweep.trials:
        return limits.is_out_of_time(sweep, transaction.now) or len(running) < sweep.parallel
    return not running and (sweep.state is not SweepState.PAUSED or sweep.next_trial > sweep.trials)


def may_begin(transaction: Transaction, sweep: SweepRow) -> bool:
    """Returns whether a sweep may begin a trial, for which it needs a proposal."""
    if sweep.state is not SweepState.RUNNING or sweep.next_trial > sweep.trials:
        return False
    return len(trial_store.trials(transaction, sweep, [TrialState.RUNNING])) <= sweep.parallel


def _store_results(
    transaction: Transaction, sweep: SweepRow, config: SweepConfig
) -> tuple[SweepRow, int, int]:
    """Stores the results of ended jobs and trials, and adds jobs of further seeds.

    Returns the sweep, how many of its trials have not ended, and how many of these have jobs.
    """
    running = trial_store.trials(transaction, sweep, [TrialState.RUNNING])
    jobs = trial_store.jobs_of(transaction, running)
    waiting: list[tuple[TrialRow, list[TrialJob]]] = []
    left, busy = len(running), 0
    for trial in running:
        group = [trial_end.store_job(transaction, job, config) for job in jobs[trial.pk]]
        is_open = seeds.is_open(group)
        busy += is_open
        if seeds.missing(sweep, config, group):
            if seeds.may_add(sweep, config, group):
                waiting.append((trial, group))
        elif not is_open:
            columns = trial_end.columns(group)
            trial_store.change_trial(transaction, trial, **columns, finished_at=transaction.now)
            left -= 1
    added = size = 0
    for trial, group in waiting:
        is_open = seeds.is_open(group)
        is_enough = added >= JOBS_AT_ONCE or size >= BYTES_AT_ONCE
        if is_enough or (not is_open and busy >= sweep.parallel):
            continue
        specs = _specs_of_seeds(sweep, config, trial, group)
        refusal = _refusal(transaction, sweep, specs)
        if refusal is not None:  # such as a custom op that was deleted
            if not is_open:  # it ends with the seeds that it has
                trial_store.repeat_none(transaction, trial.sweep_pk, trial.pk)
                columns = {**trial_end.columns(group), "message": refusal}
                trial_store.change_trial(transaction, trial, **columns, finished_at=transaction.now)
                left -= 1
            continue
        if not quotas.has_room(transaction, sweep.project, sweep.owner, len(specs)):
            continue
        trial_jobs.add(transaction, sweep, trial, specs, group)
        added += len(specs)
        size += _size(specs)
        busy += not is_open
    if added or left != len(running):
        sweep = store.change(transaction, sweep)
    return sweep, left, busy


def _apply_limits(transaction: Transaction, sweep: SweepRow) -> SweepRow:
    """Stops a sweep that has reached a limit; its running trials continue."""
    if sweep.state is not SweepState.RUNNING:
        return sweep
    reason = limits.reached(transaction, sweep)
    message = ""
    last = trial_store.last_states(transaction, sweep, MAX_FAILED)
    if len(last) == MAX_FAILED and set(last) == {TrialState.FAILED.value}:
        reason = SweepReason.TRIALS_FAILED
        message = f"{MAX_FAILED} trials in a row failed; the messages of the trials say why."
    if reason is None:
        return sweep
    state = SweepState.STOPPING.value
    return store.change(transaction, sweep, state=state, reason=reason.value, message=message)


def _chosen(config: SweepConfig, number: int, proposal: Proposal | None) -> Proposal | None:
    """Returns the proposal of a trial, None if there is none yet."""
    if config.method == "tpe":
        return proposal if proposal and proposal.number == number else None
    return Proposal(number, proposals.parameters_of(config, number))


def _begin(
    transaction: Transaction, sweep: SweepRow, config: SweepConfig, proposal: Proposal
) -> dict[int, ResolvedSpec]:
    """Adds the next trial with its first jobs, and returns their specs by their seeds.

    A trial that cannot run has failed, without a job.
    """
    try:
        specs = proposals.specs_of(
            config, proposal.parameters, most_bytes=BYTES_AT_ONCE, number=proposal.number
        )
    except InvalidInput as error:
        message: str | None = _text_of(error)
    else:
        message = _refusal(transaction, sweep, specs)
    if message is not None:
        trial_store.add_trial(transaction, sweep, proposal, TrialState.FAILED, message)
        return {}
    trial = trial_store.add_trial(transaction, sweep, proposal)
    is_full = not quotas.has_room(transaction, sweep.project, sweep.owner, len(specs))
    # Only the first seed can be stopped early.
    if config.stopping is not None or is_full:
        specs = dict(list(specs.items())[:1])
    trial_jobs.add(transaction, sweep, trial, specs)
    return specs


def _size(specs: Mapping[int, ResolvedSpec]) -> int:
    return sum(len(resolved.text) for resolved in specs.values())


def _specs_of_seeds(
    sweep: SweepRow, config: SweepConfig, trial: TrialRow, group: Sequence[TrialJob]
) -> dict[int, ResolvedSpec]:
    """Returns the specs of the next seeds of a trial that have no job yet."""
    missing = seeds.missing(sweep, config, group)
    parameters = json.loads(trial.parameters)
    return proposals.specs_of(config, parameters, missing, BYTES_AT_ONCE, trial.number)


def _refusal(
    transaction: Transaction, sweep: SweepRow, specs: Mapping[int, ResolvedSpec]
) -> str | None:
    """Returns why jobs of these specs cannot be added now, None if they can."""
    try:
        with transaction.acting_for(sweep.rights):
            for resolved in specs.values():
                submission.check_admission(transaction, resolved)
    except InvalidInput as error:
        return _text_of(error)
    return None


def _text_of(error: InvalidInput) -> str:
    return "; ".join(str(problem) for problem in error.problems)[:4000]


def _end(transaction: Transaction, sweep: SweepRow) -> None:
    columns: dict[str, Any] = {"state": SweepState.ENDED.value, "finished_at": transaction.now}
    if sweep.reason is None:
        columns["reason"] = SweepReason.COMPLETED.value
    store.change(transaction, sweep, **columns)
