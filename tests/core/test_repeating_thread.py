"""The loop of the threads of service and agent: pauses, wake-ups, failures, ends."""

from __future__ import annotations

import logging
import queue
import threading
from typing import Iterator, List, Optional

import pytest

from ipulse_core.errors import Unavailable
from ipulse_core.repeating_thread import RepeatingThread

SOON = 20.0  # limit of every wait, on a busy machine
LONG = 3600.0


class Turns:
    """The actions of a thread's turns, in order; each turn that is taken is put in a queue."""

    def __init__(self, *then: object) -> None:
        self._then = list(then)
        self.taken: queue.Queue[int] = queue.Queue()
        self.number = 0

    def __call__(self) -> Optional[float]:
        self.number += 1
        does = self._then[min(self.number, len(self._then)) - 1]
        self.taken.put(self.number)
        if isinstance(does, BaseException):
            raise does
        assert does is None or isinstance(does, float)
        return does

    def expect(self, number: int) -> None:
        assert self.taken.get(timeout=SOON) == number


@pytest.fixture
def threads() -> Iterator[List[RepeatingThread]]:
    running: List[RepeatingThread] = []
    yield running
    for thread in running:
        thread.stop()


def test_turns_follow_each_other_until_it_is_stopped(threads: List[RepeatingThread]) -> None:
    turns = Turns(0.0, 0.001)
    threads.append(RepeatingThread("counts", turns))
    threads[0].start()
    for number in (1, 2, 3):
        turns.expect(number)
    threads[0].stop()
    assert not threads[0].is_alive


def test_a_pause_ends_early_for_a_wake_up_and_for_the_end(threads: List[RepeatingThread]) -> None:
    turns = Turns(LONG)
    threads.append(RepeatingThread("waits", turns, first_pause=LONG))
    threads[0].start()
    threads[0].wake()
    turns.expect(1)
    threads[0].wake()
    turns.expect(2)
    threads[0].stop()
    assert not threads[0].is_alive
    assert turns.taken.empty()


def test_a_wake_up_during_a_turn_leads_to_another(threads: List[RepeatingThread]) -> None:
    turns = Turns(LONG)

    def turn() -> Optional[float]:
        if turns.number == 0:
            threads[0].wake()
        return turns()

    threads.append(RepeatingThread("busy", turn))
    threads[0].start()
    turns.expect(1)
    turns.expect(2)


@pytest.mark.parametrize(
    ("error", "line", "level"),
    [
        (Unavailable("no database"), "tries_waits", logging.WARNING),
        (ValueError("a bug"), "tries_failed", logging.ERROR),
    ],
)
def test_a_failure_is_logged_and_tried_again(
    error: Exception,
    line: str,
    level: int,
    threads: List[RepeatingThread],
    caplog: pytest.LogCaptureFixture,
) -> None:
    turns = Turns(error, LONG)
    threads.append(RepeatingThread("tries", turns, retry_seconds=0.001))
    threads[0].start()
    turns.expect(1)
    turns.expect(2)
    [record] = [one for one in caplog.records if one.name == "ipulse_core.repeating_thread"]
    assert (record.getMessage(), record.levelno) == (line, level)


def test_the_end_does_not_wait_for_a_retry(threads: List[RepeatingThread]) -> None:
    turns = Turns(ValueError())
    threads.append(RepeatingThread("tries", turns, retry_seconds=LONG))
    threads[0].start()
    turns.expect(1)
    threads[0].stop()
    assert not threads[0].is_alive


@pytest.mark.parametrize("last", [None, ValueError("a bug")])
def test_it_ends_by_itself_and_says_so(last: object, threads: List[RepeatingThread]) -> None:
    ended = threading.Event()
    threads.append(RepeatingThread("once", Turns(last), retry_seconds=None, on_end=ended.set))
    threads[0].start()
    assert ended.wait(SOON)
    threads[0].stop()
    assert not threads[0].is_alive


def test_stop_gives_up_on_a_turn_that_does_not_end(threads: List[RepeatingThread]) -> None:
    entered, may_end = threading.Event(), threading.Event()

    def turn() -> Optional[float]:
        entered.set()
        assert may_end.wait(SOON)
        return 0.0

    threads.append(RepeatingThread("slow", turn))
    threads[0].start()
    assert entered.wait(SOON)
    threads[0].stop(0.01)
    assert threads[0].is_alive
    assert threads[0].is_stopping
    may_end.set()
    threads[0].stop()
    assert not threads[0].is_alive
