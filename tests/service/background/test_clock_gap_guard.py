"""A service that was suspended ends no attempt because of that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from ipulse.spec import parse_spec
from ipulse_service.background.reaper import Reaper
from ipulse_service.db import migrations, tables
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.jobs import leases, queue_order, submission
from ipulse_service.jobs.job import JobRow
from ipulse_service.settings import Settings
from tests.service.running import SPEC


class Clocked:
    """A reaper that scans when a test says so, on a database whose clock the test sets."""

    def __init__(self, home: Path) -> None:
        settings = Settings(home=home)
        self.database = Database(settings.database_url)
        migrations.upgrade(self.database)
        self.reaper = Reaper(self.database, settings)
        self.lease_seconds = settings.lease_seconds
        self.now = 10**12

    def pass_seconds(self, seconds: float) -> None:
        self.now += round(seconds * 1000)
        self.database.backend.clock = f"SELECT {self.now}"

    def look(self) -> None:
        self.reaper.reap()

    def claim(self) -> leases.Claim:
        job = submission.submit(
            self.database, submission.resolve(parse_spec(SPEC)), "user", None
        ).job
        with self.database.write() as transaction:
            return leases.claim(transaction, job.id, "agent", ["cpu"], self.lease_seconds)

    def expire(self, claim: leases.Claim) -> None:
        this = update(tables.attempts).where(tables.attempts.c.id == claim.attempt.id)
        with self.database.write() as transaction:
            transaction.connection.execute(this.values(lease_expires_at=0))

    def heartbeat(self, claim: leases.Claim) -> None:
        with self.database.write() as transaction:
            held = leases.hold(transaction, claim.attempt.id, claim.fence)
            leases.renew(transaction, held, self.lease_seconds)

    def is_held(self, claim: leases.Claim) -> bool:
        with self.database.read() as transaction:
            return (
                leases.check_fence(transaction, claim.attempt.id, claim.fence).finished_at is None
            )


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[Clocked]:
    clocked = Clocked(tmp_path)
    clocked.pass_seconds(0)
    clocked.look()
    for _ in range(5):  # past what everybody is given after a start
        clocked.pass_seconds(1)
        clocked.look()
    yield clocked
    clocked.database.close()


def test_a_lease_that_ran_out_while_it_listened_is_lost(clocked: Clocked) -> None:
    claim = clocked.claim()
    clocked.expire(claim)
    clocked.look()
    assert not clocked.is_held(claim)


@pytest.mark.parametrize("where", ["between two looks", "between a look and what it leads to"])
@pytest.mark.parametrize("seconds", [60.0, -60.0])
def test_one_that_ran_out_while_it_was_stopped_is_not(
    clocked: Clocked, monkeypatch: pytest.MonkeyPatch, where: str, seconds: float
) -> None:
    lost, alive = clocked.claim(), clocked.claim()
    clocked.expire(lost)
    with monkeypatch.context() as patched:
        if where == "between two looks":
            clocked.pass_seconds(seconds)
        else:
            overdue = queue_order.overdue

            def stopped_after(transaction: Transaction) -> list[JobRow]:
                rows = overdue(transaction)
                if not transaction.is_writing:
                    clocked.pass_seconds(seconds)
                return rows

            patched.setattr(queue_order, "overdue", stopped_after)
        clocked.look()
    assert clocked.is_held(lost)
    assert clocked.is_held(alive)
    clocked.heartbeat(alive)
    clocked.pass_seconds(3)
    clocked.look()
    assert not clocked.is_held(lost)
    assert clocked.is_held(alive)
