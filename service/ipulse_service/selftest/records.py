"""Reads a stack's database, SQLite or PostgreSQL, for the faults and the audit."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ipulse_core.states import TERMINAL

BUSY_SECONDS = 40.0
RETRY_SECONDS = 0.2  # between two tries to reach PostgreSQL
_TRIED = (
    "SELECT a.id, j.id, a.number, a.started_at, a.finished_at, a.reason, a.message"
    " FROM attempts a JOIN jobs j ON j.pk = a.job_pk"
)


@dataclass(frozen=True)
class Held:
    """An attempt that holds a job."""

    id: str
    job: str
    number: int
    agent: str
    losses: int  # of its job in a row, without a new checkpoint


@dataclass(frozen=True)
class Tried:
    """An attempt. Times are milliseconds since 1970 on the database's clock."""

    id: str
    job: str
    number: int
    started_at: int
    finished_at: int | None
    reason: str | None
    message: str = ""


class Records:
    """Reads a SQLite database, each result in its own transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def held(self) -> list[Held]:
        """Returns the attempts that hold a job."""
        query = (
            "SELECT a.id, j.id, a.number, a.agent, j.losses"
            " FROM attempts a JOIN jobs j ON j.pk = a.job_pk"
            " WHERE a.finished_at IS NULL ORDER BY a.pk"
        )
        return [Held(*row) for row in self._rows(query)]

    def tried(self) -> list[Tried]:
        """Returns all attempts."""
        return [Tried(*row) for row in self._rows(f"{_TRIED} ORDER BY j.pk, a.number")]

    def tried_of(self, pk: int) -> list[Tried]:
        """Returns the attempts of a job."""
        return [Tried(*row) for row in self._rows(f"{_TRIED} WHERE j.pk = ?", pk)]

    def unfinished(self) -> list[str]:
        """Returns the ids of the jobs that have not ended."""
        ended = [state.value for state in TERMINAL]
        rows = self._rows("SELECT id, state FROM jobs WHERE state NOT IN (?, ?, ?)", *ended)
        return [str(row[0]) for row in rows]

    def queued(self) -> list[str]:
        """Returns the ids of the queued jobs."""
        rows = self._rows("SELECT id FROM jobs WHERE state = 'queued' ORDER BY pk")
        return [str(row[0]) for row in rows]

    def jobs(self) -> list[tuple[Any, ...]]:
        """Returns key, id, state, reason, last event and attempt number of each job."""
        return self._rows("SELECT pk, id, state, reason, last_seq, attempt FROM jobs ORDER BY pk")

    def events(self, pk: int) -> list[tuple[Any, ...]]:
        """Returns number, kind and body of each event of a job."""
        return self._rows("SELECT seq, kind, body FROM events WHERE job_pk = ? ORDER BY seq", pk)

    def artifacts(self, pk: int) -> list[tuple[Any, ...]]:
        """Returns attempt number, role, digest and size of each file of a job."""
        query = (
            "SELECT a.number, f.role, f.sha256, f.size FROM artifacts f"
            " JOIN attempts a ON a.pk = f.attempt_pk WHERE f.job_pk = ?"
        )
        return self._rows(query, pk)

    def digests(self) -> set[str]:
        """Returns the digests of all files that a row refers to."""
        return {str(row[0]) for row in self._rows("SELECT DISTINCT sha256 FROM artifacts")}

    def pending(self) -> Iterator[str]:
        """Yields a sentence for each row that should be gone once every job has ended."""
        for what, query in (
            ("attempt", "SELECT id FROM attempts WHERE finished_at IS NULL"),
            ("wake-up", "SELECT pk FROM outbox"),
        ):
            for row in self._rows(query):
                yield f"{what} {row[0]} is still open"

    def lock(self) -> sqlite3.Connection:
        """Returns a connection that locks the database until it is closed."""
        connection = self._connect()
        connection.execute("BEGIN IMMEDIATE")
        return connection

    def keep(self, folder: Path) -> None:
        """Copies the database into a folder."""
        shutil.copy(self.path, folder)

    def sound(self) -> bool:
        """Returns whether SQLite's integrity check succeeds."""
        return self._rows("PRAGMA integrity_check") == [("ok",)]

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(self._connect()) as connection:
            return connection.execute(query, values).fetchall()

    def _connect(self) -> sqlite3.Connection:
        # Not read-only: after a crash the first connection recovers the log.
        uri = f"{self.path.as_uri()}?mode=rw"
        return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


class PostgreSQLRecords(Records):
    """Reads records and waits while the server is down."""

    def __init__(self, url: str) -> None:
        self._url = url

    def lock(self) -> Any:
        """Returns a connection that locks the tables until it is closed."""
        connection = self._connect()
        connection.execute("LOCK TABLE jobs, attempts, events IN EXCLUSIVE MODE")
        return connection

    def sound(self) -> bool:
        """Returns True: PostgreSQL checks its own files."""
        return True

    def keep(self, folder: Path) -> None:
        """Does nothing: the servers keep their folders themselves."""

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        import psycopg

        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with closing(self._connect()) as connection:
                    found: list[tuple[Any, ...]] = connection.execute(
                        query.replace("?", "%s").encode(), values
                    ).fetchall()
                    return found
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)

    def _connect(self) -> Any:
        import psycopg  # the extra `postgresql`

        return psycopg.connect(self._url)
