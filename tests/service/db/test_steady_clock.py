"""The service's time passes evenly although the database's clock is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.states import JobState
from ipulse_service.agents import registry
from ipulse_service.agents.registry import KnownAgent
from ipulse_service.background import outbox
from ipulse_service.db import calendar, migrations, tokens
from ipulse_service.db.engine import Database, rfc3339
from ipulse_service.jobs import attempts, store, submission
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.queue import claims, order
from ipulse_service.jobs.queue.waiting import QueueView
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.settings import Settings
from tests.service.running import SPEC

BEGAN = 1_790_000_000_000  # milliseconds since 1970
HOUR = 3_600_000
STEPS = [5 * HOUR, -2 * HOUR, 87_600 * HOUR, -400_000 * HOUR, 1_500, -1_500]  # milliseconds


class World:
    """Processes of the service on one database with a clock that a test sets."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._databases: list[Database] = []
        self.passed = 0  # milliseconds of real time
        self.wrong = 0  # milliseconds by which the database's clock is wrong
        self.database = self.process()
        migrations.upgrade(self.database)

    def process(self) -> Database:
        """Another process: at first it knows only what is stored."""
        database = Database(self._url)
        database.clock.elapsed_ms = lambda: 12_345 + self.passed
        self._databases.append(database)
        self.pass_ms(0)
        return database

    def pass_ms(self, milliseconds: int) -> None:
        self.passed += milliseconds
        for database in self._databases:
            database.clock.expression = str(BEGAN + self.passed + self.wrong)

    def set_clock(self, wrong: int) -> None:
        self.wrong = wrong
        self.pass_ms(0)

    def now(self, database: Database | None = None, writing: bool = True) -> int:
        chosen = database or self.database
        with chosen.write() if writing else chosen.read() as transaction:
            return transaction.now - BEGAN

    def submit(self, **options: Any) -> JobRow:
        resolved = submission.resolve(parse_spec(SPEC))
        wanted = submission.Submission(resolved, SchedulingOptions(**options))
        return submission.submit(self.database, wanted, "user", None).job

    def close(self) -> None:
        for database in self._databases:
            database.close()
        calendar.set_eras(())


@pytest.fixture
def world(
    request: pytest.FixtureRequest, database_settings: dict[str, Any], tmp_path: Path
) -> Iterator[World]:
    if database_settings:
        url = request.getfixturevalue("postgresql_server").new_database()
    else:
        url = Settings(home=tmp_path).database_url
    world = World(url)
    yield world
    world.close()


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
    with world.database.write() as transaction:
        world.database.clock.remember(transaction.connection, transaction.now)
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


class TestWhatDependsOnTime:
    """Each of these once depended on a clock that may be set."""

    @pytest.fixture(params=STEPS[:2])
    def set_clock(self, world: World, request: pytest.FixtureRequest) -> Callable[[], None]:
        return lambda: world.set_clock(request.param)

    def test_tokens(self, world: World, set_clock: Callable[[], None]) -> None:
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
    def test_limits(self, world: World, set_clock: Callable[[], None], limit: str) -> None:
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

    def test_the_order_of_the_queue(self, world: World, set_clock: Callable[[], None]) -> None:
        first = world.submit()
        set_clock()
        world.pass_ms(10)
        second = world.submit()
        with world.database.write() as transaction:
            head = order.head(transaction, ["cpu"], lambda needs: True)
            assert head is not None
            assert head.id == first.id
            queued = order.entries(transaction)
            assert [entry.pk for entry in queued] == [first.pk, second.pk]

    def test_wake_ups(self, world: World, set_clock: Callable[[], None]) -> None:
        world.submit()
        set_clock()
        world.pass_ms(1_000)
        with world.database.read() as transaction:
            since = transaction.now - 1_000
            assert len(outbox.pending(transaction, 10, since)) == 1
            assert outbox.queued(transaction, since) == {"cpu": 1}
            assert outbox.queued(transaction, since - 1) == {}

    def test_retention(self, world: World, set_clock: Callable[[], None]) -> None:
        job = world.submit()
        with world.database.write() as transaction:
            attempts.cancel(transaction, store.get(transaction, job.id))
        set_clock()
        world.pass_ms(24 * HOUR)
        with world.database.read() as transaction:
            day_ago = transaction.now - 24 * HOUR
            assert not order.ended_before(transaction, day_ago, 10)
            assert order.ended_before(transaction, day_ago + 1, 10)

    def test_presence(self, world: World, set_clock: Callable[[], None]) -> None:
        queued = world.submit()
        view = QueueView(rescan_seconds=1e6)
        with world.database.write() as transaction:
            registry.announce(transaction, KnownAgent("agent", ("cpu",)))
        set_clock()
        world.pass_ms(89_999)
        with world.database.write() as transaction:
            job = store.get(transaction, queued.id)
            found = view.waiting(transaction, job)
            assert found is not None
            assert found.reason == "wake_up"
        world.pass_ms(1)
        with world.database.write() as transaction:
            found = view.waiting(transaction, job)
            assert found is not None
            assert found.reason == "no_agent"

    def test_durations(self, world: World, set_clock: Callable[[], None]) -> None:
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
