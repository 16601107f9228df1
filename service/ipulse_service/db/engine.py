"""The database: short transactions, and the only clock there is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, lru_cache

from sqlalchemy import Connection, delete, insert, make_url
from sqlalchemy.exc import (
    DatabaseError,
    InterfaceError,
    InternalError,
    OperationalError,
    TimeoutError,
)

from ipulse_core.errors import Unavailable
from ipulse_service.db.postgresql import PostgreSQL
from ipulse_service.db.sqlite import SQLite
from ipulse_service.db.tables import trials
from ipulse_service.files.keyed_lock import KeyedLock
from ipulse_service.jobs.wake_up import WakeUp

# Nothing that was asked for was wrong: locked, full, unreadable, gone, or no database at all.
_TROUBLE = (DatabaseError, OperationalError, InterfaceError, InternalError)

Backend = SQLite | PostgreSQL

_log = logging.getLogger(__name__)


class Transaction:
    """One transaction: its connection, its time, and what to tell others once it is kept."""

    def __init__(self, connection: Connection, backend: Backend, is_writing: bool) -> None:
        self.connection = connection
        # What a writing transaction reads in order to change it, it must lock.
        self.is_writing = is_writing
        self.topics: set[str] = set()  # job ids, or another word that somebody waits on
        self.wake_ups: dict[int, WakeUp] = {}  # promised here, by their keys in the outbox
        self._backend = backend

    @cached_property
    def now(self) -> int:
        """Milliseconds since 1970 by the database's clock, the same for the whole transaction."""
        return int(self.connection.exec_driver_sql(self._backend.clock).scalar_one())

    def lock(self, name: str, patiently: bool = False) -> None:
        """Keeps every other writing transaction that asks for this name waiting: for a while, or
        patiently for as long as it takes. Raises Unavailable when this one waited too long."""
        self._backend.lock(self.connection, name, patiently)


class Database:
    """Opens transactions; after each commit it passes the topics on to `listeners`, and the
    promised wake-ups to `wake_up_listeners`."""

    def __init__(self, url: str) -> None:
        """Raises Unavailable for a URL of something else, MissingDependency without its driver."""
        self.url = make_url(url)
        kind = self.url.get_backend_name()
        if not self.url.database or kind not in ("sqlite", "postgresql"):
            raise Unavailable(
                f"cannot use the database {self.url.render_as_string(hide_password=True)}: "
                "set IPULSE_DATABASE_URL to sqlite:/// and a file's path, or to "
                "postgresql://USER@HOST/DATABASE"
            )
        self.backend: Backend = SQLite(self.url) if kind == "sqlite" else PostgreSQL(self.url)
        self.key_locks = KeyedLock()  # among the threads of this process
        self.listeners: list[Callable[[frozenset[str]], None]] = []
        self.wake_up_listeners: list[Callable[[dict[int, WakeUp]], None]] = []

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A consistent view. Never blocks, and is never blocked by, a writer.

        Raises Unavailable when the database fails.
        """
        with _explained(), self.backend.reading.begin() as connection:
            yield Transaction(connection, self.backend, is_writing=False)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Kept on disk when the block ends, undone when it raises. Must not be nested.

        Raises Unavailable when the database fails, or other writers keep it busy for too long.
        """
        with self.backend.turn(), _explained(), self.backend.writing.begin() as connection:
            transaction = Transaction(connection, self.backend, is_writing=True)
            yield transaction
        self.backend.sync()
        if transaction.topics:
            for listener in self.listeners:
                listener(frozenset(transaction.topics))
        if transaction.wake_ups:
            for hear in self.wake_up_listeners:
                hear(transaction.wake_ups)

    @contextmanager
    def exclusively(self, name: str) -> Iterator[None]:
        """Keeps everybody else who asks for this name waiting, and no transaction.

        Take it before a transaction and never inside of one. Raises Unavailable when it is not
        free in time.
        """
        with _explained(), self.backend.exclusively(name):
            yield

    def is_writable(self) -> bool:
        """Writes a row and keeps it: a disk may be full, a server a replica that only reads."""
        try:
            with self.write() as transaction:
                transaction.connection.execute(delete(trials))
                transaction.connection.execute(insert(trials).values(tried_at=transaction.now))
        except Unavailable:
            return False
        return True

    def close(self) -> None:
        self.backend.close()


def rfc3339(milliseconds: int | None) -> str | None:
    """A stored time as `2026-01-31T12:00:00.000Z`."""
    if milliseconds is None:
        return None
    second, rest = divmod(milliseconds, 1000)
    return f"{_second(second)}.{rest:03d}Z"


@lru_cache(1024)  # a page of a list has hundreds of times, many of them in the same second
def _second(since_1970: int) -> str:
    return datetime.fromtimestamp(since_1970, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise Unavailable("the database is busy; try again in a few seconds") from error
    except (DatabaseError, InterfaceError) as error:
        if type(error) not in _TROUBLE:
            raise  # a constraint or a statement: what we asked for was wrong
        # A driver speaks of statements and processes: words for who runs the service.
        _log.warning("database_failed", extra={"error": str(error.orig).strip()})
        raise Unavailable(
            "the database cannot be used now; try again in a few seconds, and if that does not "
            "help, ask who runs this service: its log has the reason"
        ) from error
