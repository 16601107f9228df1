"""Changes of a sweep by its users: pause, resume, stop, and more trials."""

from __future__ import annotations

from ipulse.sweeps import RunningJobs
from ipulse_core.errors import Conflict, IllegalTransition, InvalidInput, Problem
from ipulse_core.states import ACTIVE, IDLE
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import attempts, finishing
from ipulse_service.jobs import store as job_store
from ipulse_service.settings import Settings
from ipulse_service.sweeps import store, trial_store
from ipulse_service.sweeps.rows import SweepReason, SweepRow, SweepState, TrialState


def pause(transaction: Transaction, sweep: SweepRow) -> SweepRow:
    """Begins no more trials until `resume`. Raises IllegalTransition for a sweep that stops."""
    if sweep.state is SweepState.PAUSED:
        return sweep
    if sweep.state is not SweepState.RUNNING:
        raise IllegalTransition(f"a sweep that is {sweep.state.value} cannot be paused")
    return store.change(transaction, sweep, state=SweepState.PAUSED.value)


def resume(transaction: Transaction, sweep: SweepRow) -> SweepRow:
    """Lets a paused sweep begin trials again. Raises IllegalTransition for one that stops."""
    if sweep.state is SweepState.RUNNING:
        return sweep
    if sweep.state is not SweepState.PAUSED:
        hint = "; extend it" if sweep.state is SweepState.ENDED else ""
        raise IllegalTransition(f"a sweep that is {sweep.state.value} cannot be resumed{hint}")
    return store.change(transaction, sweep, state=SweepState.RUNNING.value)


def stop(
    transaction: Transaction, sweep: SweepRow, running: RunningJobs, settings: Settings
) -> SweepRow:
    """Begins no more trials and cancels queued jobs; `running` says what happens to the others.

    A sweep that has ended is left unchanged.
    """
    if sweep.state is SweepState.ENDED:
        return sweep
    trial_store.repeat_none(transaction, sweep.pk)
    trials = trial_store.trials(transaction, sweep, [TrialState.RUNNING])
    groups = trial_store.jobs_of(transaction, trials)
    for trial in trials:
        if not groups[trial.pk]:  # its first job was to be made again
            columns = {"state": TrialState.CANCELLED.value, "finished_at": transaction.now}
            trial_store.change_trial(transaction, trial, **columns)
    for group in groups.values():
        for job in group:
            if job.job_pk is not None and job.state is None:
                _stop_job(transaction, job.job_pk, running, settings)
    if sweep.state is SweepState.STOPPING:
        return sweep
    reason = SweepReason.STOPPED_BY_USER.value
    return store.change(transaction, sweep, state=SweepState.STOPPING.value, reason=reason)


def extend(
    transaction: Transaction,
    sweep: SweepRow,
    trials: int | None,
    parallel: int | None,
    goes_on: bool = False,
) -> SweepRow:
    """Changes the number of trials, or of those at the same time.

    A sweep that has ended continues if trials are left and `trials` or `goes_on` is given. Raises
    InvalidInput for fewer trials than have begun, or more than the grid has.
    """
    total = sweep.trials if trials is None else trials
    at_once = sweep.parallel if parallel is None else parallel
    config = sweep.definition
    begun = sweep.next_trial - 1
    if total < begun:
        detail = f"{begun:,} trials have begun already; got {total:,}"
        raise InvalidInput([Problem("/trials", "out_of_range", detail)])
    if config.method == "grid" and total > config.space.grid_size:
        detail = f"the grid has only {config.space.grid_size:,} points; got {total:,}"
        raise InvalidInput([Problem("/trials", "out_of_range", detail)])
    if sweep.state is SweepState.STOPPING:
        raise Conflict("the sweep stops: extend it when it has ended")
    columns: dict[str, object] = {"trials": total, "parallel": at_once}
    if sweep.state is SweepState.ENDED and total > begun and (goes_on or trials is not None):
        columns |= store.continued(transaction)
    return store.change(transaction, sweep, **columns)


def _stop_job(
    transaction: Transaction, job_pk: int, running: RunningJobs, settings: Settings
) -> None:
    job = job_store.find_by_pk(transaction, job_pk)
    if job is None or job.state.is_terminal:
        return
    if job.state in IDLE or running == "cancel":
        attempts.cancel(transaction, job)
    elif running == "finish" and job.state in ACTIVE:
        try:
            finishing.finish(transaction, job, settings)
        except finishing.AgentTooOld:
            attempts.cancel(transaction, job)
