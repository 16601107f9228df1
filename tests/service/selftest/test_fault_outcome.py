"""The time from a fault to the next attempt."""

from __future__ import annotations

from ipulse_service.selftest.fault_outcome import FaultOutcome, rerun_seconds
from ipulse_service.selftest.records import Tried
from ipulse_service.selftest.report import quantile

LOST = Tried("a", "job", 1, 1000, 9000, "worker_lost")
AGAIN = Tried("b", "job", 2, 12_000, 13_000, "completed")


def test_it_is_counted_from_the_fault_to_the_next_attempt() -> None:
    faults = [FaultOutcome("kill agent", 2000, ("a",), is_aimed=True)]
    assert rerun_seconds(faults, [LOST, AGAIN]) == {"kill agent": [10.0]}


def test_the_fault_that_was_aimed_at_an_attempt_is_blamed() -> None:
    faults = [
        FaultOutcome("kill service", 1500, ("a",)),
        FaultOutcome("kill agent", 2000, ("a",), is_aimed=True),
    ]
    expected = {"kill service": [], "kill agent": [10.0]}
    assert rerun_seconds(faults, [LOST, AGAIN]) == expected


def test_an_attempt_that_ended_well_or_earlier_was_not_rerun_for_it() -> None:
    faults = [
        FaultOutcome("kill agent", 9500, ("a",), is_aimed=True),
        FaultOutcome("kill agent", 1, ("b",)),
    ]
    assert rerun_seconds(faults, [LOST, AGAIN]) == {"kill agent": []}


def test_a_quantile_is_one_of_the_values() -> None:
    values = [float(n) for n in range(1, 101)]
    assert [quantile(values, share) for share in (0.5, 0.99, 1.0)] == [50.0, 99.0, 100.0]
    assert quantile([3.0], 0.99) == 3.0
