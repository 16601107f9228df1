"""The stack's database as a fault and the audit look at it: SQLite, and only read."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ipulse_core.states import TERMINAL

_OVER = sorted(state.value for state in TERMINAL)
BUSY_SECONDS = 40.0
_TRIED = (
    "SELECT a.id, j.id, a.number, a.started_at, a.finished_at, a.reason"
    " FROM attempts a JOIN jobs j ON j.pk = a.job_pk"
)


@dataclass(frozen=True)
class Held:
    """An attempt that holds a job now."""

    id: str
    job: str
    number: int
    agent: str


@dataclass(frozen=True)
class Tried:
    """An attempt, ended or not. Times are milliseconds since 1970 by the database's clock."""

    id: str
    job: str
    number: int
    started_at: int
    finished_at: int | None
    reason: str | None


class Records:
    """Each call is a transaction of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def held(self) -> list[Held]:
        query = (
            "SELECT a.id, j.id, a.number, a.agent FROM attempts a JOIN jobs j ON j.pk = a.job_pk"
            " WHERE a.finished_at IS NULL ORDER BY a.pk"
        )
        return [Held(*row) for row in self._rows(query)]

    def tried(self) -> list[Tried]:
        """Every attempt."""
        return [Tried(*row) for row in self._rows(f"{_TRIED} ORDER BY j.pk, a.number")]

    def tried_of(self, pk: int) -> list[Tried]:
        """Those of one job."""
        return [Tried(*row) for row in self._rows(f"{_TRIED} WHERE j.pk = ?", pk)]

    def unfinished(self) -> list[str]:
        """The ids of the jobs that have not ended."""
        rows = self._rows("SELECT id, state FROM jobs WHERE state NOT IN (?, ?, ?)", *_OVER)
        return [str(row[0]) for row in rows]

    def queued(self) -> list[str]:
        rows = self._rows("SELECT id FROM jobs WHERE state = 'queued' ORDER BY pk")
        return [str(row[0]) for row in rows]

    def jobs(self) -> list[tuple[Any, ...]]:
        """Key, id, state, reason, last event's number and attempt's number of each job."""
        return self._rows("SELECT pk, id, state, reason, last_seq, attempt FROM jobs ORDER BY pk")

    def events(self, pk: int) -> list[tuple[Any, ...]]:
        """Number, kind and body of each event of a job."""
        return self._rows("SELECT seq, kind, body FROM events WHERE job_pk = ? ORDER BY seq", pk)

    def artifacts(self, pk: int) -> list[tuple[Any, ...]]:
        """Attempt's number, role, digest and size of each of a job's files."""
        query = (
            "SELECT a.number, f.role, f.sha256, f.size FROM artifacts f"
            " JOIN attempts a ON a.pk = f.attempt_pk WHERE f.job_pk = ?"
        )
        return self._rows(query, pk)

    def digests(self) -> set[str]:
        """Of every file that some row refers to."""
        return {str(row[0]) for row in self._rows("SELECT DISTINCT sha256 FROM artifacts")}

    def pending(self) -> Iterator[str]:
        """What is still to be done, in words; nothing once every job has ended."""
        for what, query in (
            ("attempt", "SELECT id FROM attempts WHERE finished_at IS NULL"),
            ("wake-up", "SELECT pk FROM outbox"),
        ):
            for row in self._rows(query):
                yield f"{what} {row[0]} is still open"

    def lock(self) -> sqlite3.Connection:
        """A connection that keeps everybody else from writing until it is closed."""
        connection = self._connect()
        connection.execute("BEGIN IMMEDIATE")
        return connection

    def keep(self, folder: Path) -> None:
        """A copy, to be looked at by a person."""
        shutil.copy(self.path, folder)

    def sound(self) -> bool:
        """Whether SQLite finds nothing wrong in its file."""
        return self._rows("PRAGMA integrity_check") == [("ok",)]

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(self._connect()) as connection:
            return connection.execute(query, values).fetchall()

    def _connect(self) -> sqlite3.Connection:
        # Not read-only: after a crash the first who comes must be able to recover the log.
        uri = f"{self.path.as_uri()}?mode=rw"
        return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
