"""Tokens, limits and retention last as long as they should although the clock is set."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ipulse_core.states import JobState
from ipulse_service.agents import registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.db import tokens
from ipulse_service.jobs import attempts, outbox, store
from ipulse_service.jobs.queue import claims, fair_share, order
from ipulse_service.jobs.queue.waiting import QueueView
from tests.service.db.clock_world import HOUR, STEPS, World

pytestmark = pytest.mark.postgresql


@pytest.fixture(params=STEPS[:2])
def set_clock(world: World, request: pytest.FixtureRequest) -> Callable[[], None]:
    return lambda: world.set_clock(request.param)


def test_tokens(world: World, set_clock: Callable[[], None]) -> None:
    with world.database.write() as transaction:
        issued, text = tokens.issue(transaction, "mine", "user", 3600)
    set_clock()
    with world.database.read() as transaction:
        assert tokens.find(transaction, text) == issued
    world.pass_ms(HOUR)
    with world.database.read() as transaction:
        with pytest.raises(tokens.TokenExpired):
            tokens.find(transaction, text)
        assert not tokens.is_good(transaction, issued.id)


@pytest.mark.parametrize("limit", ["queue_seconds", "run_seconds", "total_seconds"])
def test_limits(world: World, set_clock: Callable[[], None], limit: str) -> None:
    job = world.submit(**{limit: 60})
    if limit == "run_seconds":
        with world.database.write() as transaction:
            claims.claim(transaction, job.id, "agent", ["cpu"], 15.0)
    set_clock()
    for milliseconds, ended in ((59_999, False), (1, True)):
        world.pass_ms(milliseconds)
        with world.database.read() as transaction:
            assert bool(order.overdue(transaction)) is ended
    with world.database.write() as transaction:
        assert attempts.expire(transaction)[0].message


def test_the_order_of_the_queue(world: World, set_clock: Callable[[], None]) -> None:
    first = world.submit()
    set_clock()
    world.pass_ms(10)
    second = world.submit()
    with world.database.write() as transaction:
        standing = fair_share.read(transaction)
        head = order.head(transaction, ["cpu"], lambda needs: True, standing)
        assert head is not None
        assert head.id == first.id
        queued = order.in_order(order.entries(transaction), standing)
        assert [entry.pk for entry in queued] == [first.pk, second.pk]


def test_wake_ups(world: World, set_clock: Callable[[], None]) -> None:
    world.submit()
    set_clock()
    world.pass_ms(1_000)
    with world.database.read() as transaction:
        since = transaction.now - 1_000
        assert len(outbox.pending(transaction, 10, since)) == 1
        assert outbox.queued(transaction, since) == {"cpu": 1}
        assert outbox.queued(transaction, since - 1) == {}


def test_retention(world: World, set_clock: Callable[[], None]) -> None:
    job = world.submit()
    with world.database.write() as transaction:
        attempts.cancel(transaction, store.get(transaction, job.id))
    set_clock()
    world.pass_ms(24 * HOUR)
    with world.database.read() as transaction:
        day_ago = transaction.now - 24 * HOUR
        assert not order.ended_before(transaction, day_ago, 10)
        assert order.ended_before(transaction, day_ago + 1, 10)


def test_presence(world: World, set_clock: Callable[[], None]) -> None:
    queued = world.submit()
    view = QueueView(rescan_seconds=1e6)
    with world.database.write() as transaction:
        registry.announce(transaction, KnownAgent("agent", ("cpu",)))
    set_clock()
    world.pass_ms(89_999)
    with world.database.write() as transaction:
        job = store.get(transaction, queued.id)
        assert view.waiting(transaction, [job])[job.pk].reason == "wake_up"
    world.pass_ms(1)
    with world.database.write() as transaction:
        assert view.waiting(transaction, [job])[job.pk].reason == "no_agent"


def test_durations(world: World, set_clock: Callable[[], None]) -> None:
    job = world.submit()
    world.pass_ms(1_000)
    set_clock()
    world.pass_ms(1_000)
    with world.database.write() as transaction:
        moved = attempts.cancel(transaction, store.get(transaction, job.id))
    assert moved.state is JobState.CANCELLED
    assert moved.phase_ms == '{"queue":2000}'
    assert moved.finished_at is not None
    assert moved.finished_at - moved.created_at == 2_000
