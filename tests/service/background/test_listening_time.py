"""A service that did not listen, or has a changed clock, ends no attempt because of that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from ipulse.spec import parse_spec
from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.states import JobState, Reason
from ipulse_service.background.reaper import Reaper
from ipulse_service.db import migrations, tables
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.jobs import attempts, leases, losses, store, submission
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.queue import claims, order
from ipulse_service.settings import Settings
from tests.service.running import SPEC


class Clocked:
    """A reaper that scans when a test says so, on a database with a clock that the test sets."""

    def __init__(self, home: Path) -> None:
        settings = self.settings = Settings(home=home, lease_seconds=15.0)
        self.database = Database(settings.database_url)
        migrations.upgrade(self.database)
        self.reaper = Reaper(self.database, settings)
        self.lease_seconds = settings.lease_seconds
        self.now = 10**12
        self.ahead = 0
        self.database.clock.elapsed_ms = lambda: self.now

    def pass_seconds(self, seconds: float) -> None:
        """Both clocks advance, the database's and this machine's own."""
        self.now += round(seconds * 1000)
        self.database.clock.expression = str(self.now + self.ahead)

    def set_clock(self, seconds: float) -> None:
        """Only the database's clock is wrong by so many seconds from now on."""
        self.ahead = round(seconds * 1000)
        self.pass_seconds(0)

    def look(self) -> None:
        self.reaper.reap()

    def claim(self) -> claims.Claim:
        wanted = submission.Submission(submission.resolve(parse_spec(SPEC)))
        job = submission.submit(self.database, wanted, "user", None).job
        with self.database.write() as transaction:
            return claims.claim(transaction, job.id, "agent", ["cpu"], self.lease_seconds)

    def expire(self, claim: claims.Claim) -> None:
        this = update(tables.attempts).where(tables.attempts.c.id == claim.attempt.id)
        with self.database.write() as transaction:
            transaction.connection.execute(this.values(lease_expires_at=0))

    def cancel(self, claim: claims.Claim) -> None:
        with self.database.write() as transaction:
            attempts.cancel(transaction, store.get(transaction, claim.job.id))

    def lose(self, claim: claims.Claim) -> None:
        with self.database.write() as transaction:
            held = losses.hold(transaction, claim.attempt.id, claim.fence, 60.0)
            attempts.finish(transaction, held, AttemptOutcome(Reason.RUNNER_LOST), self.settings)

    def state_of(self, claim: claims.Claim) -> JobState:
        with self.database.read() as transaction:
            return store.get(transaction, claim.job.id).state

    def heartbeat(self, claim: claims.Claim) -> None:
        with self.database.write() as transaction:
            held = losses.hold(transaction, claim.attempt.id, claim.fence, 60.0)
            leases.renew(transaction, held, self.lease_seconds)

    def is_held(self, claim: claims.Claim) -> bool:
        with self.database.read() as transaction:
            return (
                leases.check_fence(transaction, claim.attempt.id, claim.fence).finished_at is None
            )


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[Clocked]:
    clocked = Clocked(tmp_path)
    clocked.pass_seconds(0)
    clocked.look()
    for _ in range(16):  # past what everybody is given after a start
        clocked.pass_seconds(1)
        clocked.look()
    yield clocked
    clocked.database.close()


def test_a_lease_that_ran_out_while_it_listened_is_lost(clocked: Clocked) -> None:
    claim = clocked.claim()
    clocked.expire(claim)
    clocked.look()
    assert not clocked.is_held(claim)


def turns(clocked: Clocked, seconds: float) -> None:
    """The event loop runs, and the reaper scans, every second."""
    for _ in range(round(seconds)):
        clocked.pass_seconds(1)
        clocked.reaper.listening_time.turn()
        clocked.look()


def block(clocked: Clocked, seconds: float) -> None:
    """Only the event loop stands still: the reaper scans meanwhile."""
    for _ in range(round(seconds)):
        clocked.pass_seconds(1)
        clocked.look()
    clocked.reaper.listening_time.turn()


def test_a_lease_does_not_expire_while_the_event_loop_is_blocked(clocked: Clocked) -> None:
    turns(clocked, 1)
    claim = clocked.claim()
    for _ in range(3):  # no listening time is left out in between
        turns(clocked, 4)
        block(clocked, 20)
        assert clocked.is_held(claim)
    turns(clocked, 2)
    assert clocked.is_held(claim)
    turns(clocked, 3)
    assert not clocked.is_held(claim), "after 15 s of listening without a heartbeat it is lost"


def test_a_lease_does_not_expire_while_a_heartbeat_waits_for_its_answer(clocked: Clocked) -> None:
    claim = clocked.claim()
    turns(clocked, 10)
    with clocked.reaper.listening_time.answering():
        turns(clocked, 20)
        assert clocked.is_held(claim)
    turns(clocked, 4)
    assert clocked.is_held(claim)
    turns(clocked, 3)
    assert not clocked.is_held(claim)


def test_a_lease_does_not_expire_while_connections_wait_to_be_accepted(clocked: Clocked) -> None:
    turns(clocked, 1)
    claim = clocked.claim()
    for _ in range(30):
        clocked.pass_seconds(1)
        clocked.reaper.listening_time.turn(waiting=3)
        clocked.look()
    assert clocked.is_held(claim)
    turns(clocked, 18)
    assert not clocked.is_held(claim)


@pytest.mark.parametrize("behind", [1, 5, 60])
def test_a_dead_agent_is_noticed_by_a_service_that_is_always_behind(
    clocked: Clocked, behind: int
) -> None:
    """Each connection waits for so many seconds, for ever; what an agent sent may be among them."""
    accepted = 0

    def pass_seconds(seconds: int) -> None:
        nonlocal accepted
        for _ in range(seconds):
            clocked.pass_seconds(1)
            accepted += 10
            clocked.reaper.listening_time.turn(waiting=10 * behind, accepted=accepted)
            clocked.look()

    turns(clocked, 1)
    claim = clocked.claim()
    for _ in range(behind + 10):
        pass_seconds(1)
        clocked.heartbeat(claim)
    pass_seconds(round(clocked.lease_seconds) - 1 + max(0, behind - 3))
    assert clocked.is_held(claim)
    pass_seconds(6)
    assert not clocked.is_held(claim)


def test_quick_answers_keep_no_dead_agent_alive(clocked: Clocked) -> None:
    turns(clocked, 1)
    claim = clocked.claim()
    begun = clocked.now
    while clocked.is_held(claim):
        with clocked.reaper.listening_time.answering():
            clocked.pass_seconds(0.9)
        turns(clocked, 1)
        assert clocked.now - begun < 1000 * (clocked.lease_seconds + 3)


def test_the_time_without_a_sign_of_an_agent_is_no_time_of_the_run(clocked: Clocked) -> None:
    """As after a restored backup: the job did not run while the service was off."""
    claim = clocked.claim()
    clocked.pass_seconds(10)
    clocked.heartbeat(claim)
    clocked.pass_seconds(7200)
    while clocked.is_held(claim):
        clocked.look()
        clocked.pass_seconds(1)
    with clocked.database.read() as transaction:
        assert store.get(transaction, claim.job.id).run_ms == 10_000


@pytest.mark.parametrize("where", ["between two looks", "between a look and what it leads to"])
def test_one_that_ran_out_while_it_was_stopped_is_not(
    clocked: Clocked, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    lost, alive = clocked.claim(), clocked.claim()
    clocked.expire(lost)
    with monkeypatch.context() as patched:
        if where == "between two looks":
            clocked.pass_seconds(60)
        else:
            overdue = order.overdue

            def stopped_after(transaction: Transaction) -> list[JobRow]:
                rows = overdue(transaction)
                if not transaction.is_writing:
                    clocked.pass_seconds(60)
                return rows

            patched.setattr(order, "overdue", stopped_after)
        clocked.look()
    assert clocked.is_held(lost)
    assert clocked.is_held(alive)
    clocked.heartbeat(alive)
    clocked.pass_seconds(3)
    clocked.look()
    assert not clocked.is_held(lost)
    assert clocked.is_held(alive)


STEPS = [5 * 3600.0, -2 * 3600.0, 10 * 365 * 86400.0, -30 * 365 * 86400.0, 3.0, -3.0]  # seconds


@pytest.mark.parametrize("seconds", STEPS)
def test_a_clock_that_is_set_neither_ends_a_living_attempt_nor_hides_a_dead_one(
    clocked: Clocked, seconds: float
) -> None:
    dead, cancelled, alive = clocked.claim(), clocked.claim(), clocked.claim()
    clocked.cancel(cancelled)
    clocked.set_clock(seconds)
    clocked.look()
    assert all(map(clocked.is_held, (dead, cancelled, alive)))
    begun = clocked.now
    while clocked.is_held(dead) or clocked.is_held(cancelled):
        assert (clocked.now - begun) / 1000 <= clocked.lease_seconds
        clocked.pass_seconds(1)
        clocked.heartbeat(alive)
        clocked.look()
    assert (clocked.now - begun) / 1000 >= clocked.lease_seconds - 1
    assert clocked.is_held(alive)
    assert clocked.state_of(dead) in (JobState.RETRY_WAIT, JobState.QUEUED)
    assert clocked.state_of(cancelled) is JobState.CANCELLED


@pytest.mark.parametrize("seconds", STEPS)
def test_a_job_waits_for_its_retry_as_long_as_planned(clocked: Clocked, seconds: float) -> None:
    claim = clocked.claim()
    clocked.lose(claim)
    clocked.set_clock(seconds)
    clocked.look()
    assert clocked.state_of(claim) is JobState.RETRY_WAIT
    clocked.pass_seconds(1.5)
    clocked.look()
    assert clocked.state_of(claim) is JobState.QUEUED
