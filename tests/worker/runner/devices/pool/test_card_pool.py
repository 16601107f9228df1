"""Cards of a host: neighbours for programs of several IPUs, and none that others use."""

from __future__ import annotations

from pathlib import Path
from typing import List, Set

import pytest

from ipulse_worker.runner.devices.pool import DeviceUnavailable, WaitPolicy
from ipulse_worker.runner.devices.pool.card_pool import CardPool


def policy(seconds: float = 0.0) -> WaitPolicy:
    return WaitPolicy(0.05, seconds, lambda: None, lambda wait: None, "limits.seconds")


def test_a_program_gets_neighbours_that_nobody_has(tmp_path: Path) -> None:
    used: Set[int] = set()
    pool = CardPool(tmp_path, 4, lambda: used)
    first = pool.acquire(1, "job_1", policy())
    assert first.ipus == (0,)
    with pool.acquire(2, "job_2", policy()) as both:
        assert both.ipus == (2, 3)  # not 1 and 2, which are no device
        with pytest.raises(DeviceUnavailable, match=r"limits\.seconds; job job_1"):
            pool.acquire(2, "job_3", policy())
        assert pool.acquire(1, "job_4", policy()).ipus == (1,)
    used.add(2)
    assert pool.acquire(1, "job_5", policy()).ipus == (3,)
    with pytest.raises(DeviceUnavailable):
        pool.acquire(1, "job_6", policy())


def test_a_card_that_a_training_gives_back_is_noticed(tmp_path: Path) -> None:
    answers: List[Set[int]] = [{0}, {0}]
    pool = CardPool(tmp_path, 1, lambda: answers.pop() if answers else set())
    assert pool.acquire(1, "job_1", policy(60.0)).ipus == (0,)
    assert not answers


def test_more_cards_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(DeviceUnavailable, match="8 IPUs and this worker has 4"):
        CardPool(tmp_path, 4, set).acquire(8, "job_1", policy())
