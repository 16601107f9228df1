"""A lease counts from its request, is lost once, and calls every listener."""

from __future__ import annotations

import threading

import pytest

from ipulse_core.errors import IPUlseError, StaleToken, Unavailable
from ipulse_worker.agent.lease import AttemptLease


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(clock: Clock) -> AttemptLease:
    return AttemptLease("att_1", "fence", seconds=15.0, sent_at=clock.now, clock=clock)


def test_it_counts_from_when_the_request_was_sent(lease: AttemptLease, clock: Clock) -> None:
    clock.now += 4.0
    assert lease.seconds_left() == 11.0
    lease.renew(15.0, sent_at=103.0)  # the answer came a second after the question
    assert lease.seconds_left() == 14.0


def test_the_first_reason_for_a_loss_stands(lease: AttemptLease) -> None:
    losses: list[IPUlseError] = []
    lease.on_loss(losses.append)
    first = StaleToken()
    lease.lose(first)
    lease.lose(Unavailable())
    assert losses == [first]
    assert lease.is_lost


def test_a_late_listener_is_called_at_once(lease: AttemptLease) -> None:
    lease.lose(StaleToken())
    losses: list[IPUlseError] = []
    lease.on_loss(losses.append)
    assert len(losses) == 1


def test_a_loss_wakes_waiting_threads(lease: AttemptLease) -> None:
    woken: list[bool] = []
    waiter = threading.Thread(target=lambda: woken.append(lease.wait_for_loss(30.0)))
    waiter.start()
    lease.lose(StaleToken())
    waiter.join(30.0)
    assert woken == [True]


def test_an_unexpected_error_of_a_thread_loses_it(lease: AttemptLease) -> None:
    losses: list[IPUlseError] = []
    lease.on_loss(losses.append)
    with pytest.raises(ZeroDivisionError), lease.lost_by_failure("reporter"):
        raise ZeroDivisionError
    assert "the reporter failed: ZeroDivisionError()" in losses[0].message


def test_an_error_of_the_service_is_itself_the_reason(lease: AttemptLease) -> None:
    """It decides whether the attempt counts as lost."""
    error = Unavailable()
    with pytest.raises(Unavailable), lease.lost_by_failure("attempt"):
        raise error
    assert lease.loss is error
