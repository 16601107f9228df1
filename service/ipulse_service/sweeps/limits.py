"""The limits of a sweep, and what they mean for one that continues after its end."""

from __future__ import annotations

from ipulse_core.errors import Conflict
from ipulse_service.db.engine import Transaction
from ipulse_service.sweeps import trial_store
from ipulse_service.sweeps.rows import SweepReason, SweepRow, SweepState

HOUR_MS = 3_600_000


class LimitReached(Conflict):
    """The sweep has reached one of its limits: give it another one to continue."""

    code = "limit_reached"


def is_out_of_time(sweep: SweepRow, now: int) -> bool:
    """Returns whether a sweep has begun trials for as long as it may."""
    seconds = sweep.definition.limits.run_seconds
    return seconds is not None and now >= sweep.began_at + seconds * 1000


def reached(transaction: Transaction, sweep: SweepRow) -> SweepReason | None:
    """Returns the limit that a sweep has reached."""
    limits, objective = sweep.definition.limits, sweep.definition.objective
    if is_out_of_time(sweep, transaction.now):
        return SweepReason.TIME_LIMIT
    hours = limits.device_hours
    if hours is not None and trial_store.run_ms(transaction, sweep) >= hours * HOUR_MS:
        return SweepReason.DEVICE_LIMIT
    if limits.target is not None:
        best = trial_store.best(transaction, sweep, objective.goal)
        value = best.value if best else None
        if value is not None and not objective.is_better(limits.target, value):
            return SweepReason.TARGET_REACHED
    return None


def check_continued(transaction: Transaction, before: SweepRow, sweep: SweepRow) -> None:
    """Raises LimitReached if a sweep that had ended would stop again at once."""
    if before.state is not SweepState.ENDED or sweep.state is SweepState.ENDED:
        return
    reason = reached(transaction, sweep)
    limits = sweep.definition.limits
    if reason is SweepReason.DEVICE_LIMIT:
        used = trial_store.run_ms(transaction, sweep) / HOUR_MS
        raise LimitReached(
            f"its jobs have used {used:.3g} of {limits.device_hours:.6g} device hours: give it "
            "more with `limits` (`ipulse sweep extend --device-hours`)"
        )
    if reason is SweepReason.TARGET_REACHED:
        raise LimitReached(
            f"its best trial has reached the target {limits.target:.6g}: give it another one with "
            "`limits` (`ipulse sweep extend --target`)"
        )
