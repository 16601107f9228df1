"""A fault that happened: which kind, when, and which attempts it struck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ipulse_core.states import INFRASTRUCTURE
from ipulse_service.selftest.records import Tried

_LOST = {reason.value for reason in INFRASTRUCTURE}


class PromiseBroken(Exception):
    """Raised when the stack broke one of its promises."""


@dataclass(frozen=True)
class FaultOutcome:
    """`at` is in milliseconds since 1970; `attempts` are ids, the ones it must hit first."""

    kind: str
    at: int
    attempts: tuple[str, ...] = ()
    is_aimed: bool = False  # at these attempts, and not at everything that happened to run
    kills: int = 0


def rerun_seconds(faults: Sequence[FaultOutcome], tried: Sequence[Tried]) -> dict[str, list[float]]:
    """By kind of fault: from the fault to the beginning of the next attempt at each lost job.

    An attempt that two faults struck counts for the one that was aimed at it.
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
        if blamed_fault is None or after is None or one.reason not in _LOST:
            continue
        if one.finished_at is not None and one.finished_at >= blamed_fault.at:
            found[blamed_fault.kind].append((after.started_at - blamed_fault.at) / 1000)
    return found
