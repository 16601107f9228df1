"""The database: short transactions, one writer at a time, and the only clock there is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, create_engine, event, make_url, select
from sqlalchemy.exc import DatabaseError, OperationalError

from ipulse.errors import Unavailable

from .tables import jobs

BUSY_SECONDS = 10.0  # how long a write waits for another writer before it gives up

# Milliseconds since 1970. SQLite keeps time as whole milliseconds; the sum is only rounded.
_NOW = "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"


class Transaction:
    """One transaction: its connection, its time, and what to tell others once it is kept."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.topics: set[str] = set()  # job ids, or another word that somebody waits on

    @cached_property
    def now(self) -> int:
        """Milliseconds since 1970 by the database's clock, the same for the whole transaction."""
        return int(self.connection.exec_driver_sql(_NOW).scalar_one())


class Database:
    """Opens transactions; after each commit it passes the topics on to `listeners`."""

    def __init__(self, url: str) -> None:
        self.url = make_url(url)
        if self.url.get_backend_name() != "sqlite" or not self.url.database:
            raise Unavailable(
                f"cannot use the database {self.url.render_as_string(hide_password=True)}: "
                "set IPULSE_DATABASE_URL to sqlite:/// and a file's path"
            )
        # A connection for each of the server's forty threads and the two of the dispatcher.
        self.engine = create_engine(self.url, pool_size=42, max_overflow=8)
        event.listen(self.engine, "connect", _prepare_connection)
        event.listen(self.engine, "begin", _begin)
        self._writing_engine = self.engine.execution_options(begin="BEGIN IMMEDIATE")
        # SQLite would let waiting writers poll; in one process they can simply queue.
        self._writer = threading.Lock()
        self.listeners: list[Callable[[frozenset[str]], None]] = []

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A consistent view. Never blocks, and is never blocked by, a writer.

        Raises Unavailable when the database fails.
        """
        with _explained(), self.engine.begin() as connection:
            yield Transaction(connection)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Kept on disk when the block ends, undone when it raises. Must not be nested.

        Raises Unavailable when the database fails, or other writers keep it busy for too long.
        """
        if not self._writer.acquire(timeout=BUSY_SECONDS):
            raise Unavailable("the database is busy; try again in a few seconds")
        try:
            with _explained(), self._writing_engine.begin() as connection:
                transaction = Transaction(connection)
                yield transaction
        finally:
            self._writer.release()
        if transaction.topics:
            for listener in self.listeners:
                listener(frozenset(transaction.topics))

    def answers(self) -> bool:
        """Whether the tables can be read now."""
        try:
            with self.read() as transaction:
                transaction.connection.execute(select(jobs.c.pk).limit(1))
        except Unavailable:
            return False
        return True

    def close(self) -> None:
        self.engine.dispose()


def rfc3339(milliseconds: int | None) -> str | None:
    """A stored time as `2026-01-31T12:00:00.000Z`."""
    if milliseconds is None:
        return None
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{milliseconds % 1000:03d}Z"


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        if type(error) not in (DatabaseError, OperationalError):
            raise  # a constraint or a statement: what we asked for was wrong
        # Locked, full, unreadable, or no database: nothing that was asked for was wrong.
        raise Unavailable(f"the database fails: {error.orig}; try again later") from error


def _prepare_connection(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin in `_begin`, not in the driver
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")  # what was answered 202 survives a power cut
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A transaction that reads first and writes later could fail half-way for want of the
    # write lock, so a writing one takes it before anything else.
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
