"""An injected fault: its kind, its time, and the attempts that it affected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ipulse_core.states import INFRASTRUCTURE
from ipulse_service.selftest.records import Tried

LOST = {reason.value for reason in INFRASTRUCTURE}


class PromiseBroken(Exception):
    """A guarantee of the stack is broken; the message says which."""


@dataclass(frozen=True)
class FaultOutcome:
    """An injected fault. `at` is in milliseconds since 1970; `attempts` are ids."""

    kind: str
    at: int
    attempts: tuple[str, ...] = ()
    is_aimed: bool = False  # aimed at these attempts, not at all that ran
    kills: int = 0


def rerun_seconds(faults: Sequence[FaultOutcome], tried: Sequence[Tried]) -> dict[str, list[float]]:
    """Returns the seconds from fault to next attempt of each lost job, by kind of fault.

    An attempt that two faults affected counts for the one that was aimed at it.
    """
    blamed: dict[str, FaultOutcome] = {}
    for fault in sorted(faults, key=lambda one: (not one.is_aimed, one.at)):
        for attempt in fault.attempts:
            blamed.setdefault(attempt, fault)
    following = {(one.job, one.number): one for one in tried}
    found: dict[str, list[float]] = {fault.kind: [] for fault in faults}
    for one in tried:
        blamed_fault = blamed.get(one.id)
        after = following.get((one.job, one.number + 1))
        if blamed_fault is None or after is None or one.reason not in LOST:
            continue
        if one.finished_at is not None and one.finished_at >= blamed_fault.at:
            found[blamed_fault.kind].append((after.started_at - blamed_fault.at) / 1000)
    return found
