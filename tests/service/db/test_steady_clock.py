"""The service's time passes evenly although the database's clock is set."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ipulse_service.db import calendar
from ipulse_service.db.engine import rfc3339
from tests.service.db.clock_world import BEGAN, HOUR, STEPS, World

pytestmark = pytest.mark.postgresql


@pytest.mark.parametrize("step", STEPS)
def test_time_passes_evenly_when_the_clock_is_set(world: World, step: int) -> None:
    for writing in (True, False, False, True, True, False):
        assert world.now(writing=writing) == world.passed
        world.pass_ms(700)
    world.set_clock(step)
    for writing in (False, False, True, False, True, False):
        assert world.now(writing=writing) == world.passed
        world.pass_ms(700)
    world.set_clock(0)
    for writing in (False, True, False):
        assert world.now(writing=writing) == world.passed
        world.pass_ms(700)


@pytest.mark.parametrize("step", STEPS)
def test_later_processes_and_replicas_have_the_same_time(world: World, step: int) -> None:
    replica = world.process()
    assert world.now() == world.now(replica) == world.passed
    world.set_clock(step)
    assert world.now() == world.passed
    world.pass_ms(300)
    assert world.now(replica, writing=False) == world.passed
    assert world.now(world.process(), writing=False) == world.passed
    world.pass_ms(300)
    assert world.now() == world.now(replica) == world.passed


@pytest.mark.parametrize("step", [-1_500, -2 * HOUR, -400_000 * HOUR])
def test_time_does_not_go_back_over_a_restart(world: World, step: int) -> None:
    world.remember()
    world.pass_ms(100)
    world.set_clock(step)
    assert 0 <= world.now(world.process(), writing=False) <= world.passed


def test_drift_is_followed(world: World) -> None:
    world.now()
    for _ in range(50):
        world.pass_ms(1_000)
        world.wrong += 100
        assert world.now(writing=False) <= world.passed + world.wrong
    world.pass_ms(0)
    assert world.now() == world.passed + world.wrong


def test_a_replica_that_was_paused_does_not_hold_the_others_back(world: World) -> None:
    """The host of a virtual machine stops it with its clocks, while the server continues."""
    replica = world.process()
    paused_at = 0
    replica.clock.elapsed_ms = lambda: 12_345 + world.passed - paused_at
    assert world.now() == world.now(replica) == 0
    world.pass_ms(HOUR)
    paused_at = HOUR
    assert world.now(writing=False) == world.passed
    world.now(replica)  # it takes the gap for a step
    assert world.now() == world.passed
    assert world.now(replica) == world.passed
    assert world.now(writing=False) == world.passed


@pytest.mark.parametrize("step", STEPS)
def test_times_are_shown_as_the_clock_showed_them(world: World, step: int) -> None:
    early = world.submit()
    world.pass_ms(HOUR)
    world.set_clock(step)
    world.now()  # stores the step
    late = world.submit()
    assert rfc3339(early.created_at) == _text(BEGAN)
    assert rfc3339(late.created_at) == _text(BEGAN + HOUR + step)
    assert calendar.stored(BEGAN + HOUR + step) == late.created_at
    assert calendar.stored(BEGAN) == early.created_at or step < -HOUR


def _text(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_moment_that_the_clock_skipped_is_that_of_the_step(world: World) -> None:
    world.now()
    world.pass_ms(1_000)
    world.set_clock(5 * HOUR)
    world.now()  # stores the step
    world.now()
    assert calendar.stored(BEGAN + HOUR) == BEGAN + 1_000
    assert calendar.stored(BEGAN + 500) == BEGAN + 500
