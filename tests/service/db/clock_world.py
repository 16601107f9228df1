"""Processes of the service on one database, with clocks that a test sets."""

from __future__ import annotations

from typing import Any

from ipulse.spec import parse_spec
from ipulse_service.db import calendar, migrations
from ipulse_service.db.engine import Database
from ipulse_service.jobs import submission
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.scheduling_options import SchedulingOptions
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
        self.has_own_clock = False  # the database: it is on another machine
        self.wrong = 0  # milliseconds by which the database's clock is wrong
        self.database = self.process()
        migrations.upgrade(self.database)

    def process(self, boot: str = "first", booted_at: int = 0) -> Database:
        """Another process: at first it knows only what is stored.

        Its machine was started `booted_at` milliseconds after the first one.
        """
        database = Database(self._url)
        database.clock.elapsed_ms = lambda: 12_345 + self.passed - booted_at
        self.has_own_clock = database.clock.boot_id is None
        if not self.has_own_clock:
            database.clock.boot_id = boot
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

    def remember(self) -> None:
        """Store the time, as the reaper does."""
        with self.database.write() as transaction:
            self.database.clock.remember(transaction.connection, transaction.now)

    def close(self) -> None:
        for database in self._databases:
            database.close()
        calendar.set_eras(())
