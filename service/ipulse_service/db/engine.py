"""The database: short transactions, and the time that all replicas share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, lru_cache

from sqlalchemy import Connection, delete, insert, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    InterfaceError,
    InternalError,
    OperationalError,
    TimeoutError,
)

from ipulse_core.errors import Unavailable
from ipulse_service.db import calendar
from ipulse_service.db.failures import DatabaseFailed
from ipulse_service.db.keyed_lock import KeyedLock
from ipulse_service.db.postgresql import PostgreSQL
from ipulse_service.db.sqlite import SQLite
from ipulse_service.db.steady_clock import SteadyClock
from ipulse_service.db.tables import trials
from ipulse_service.db.wake_up import WakeUp

# The database itself fails: it is locked, full, unreadable or gone, or is no database.
_TROUBLE = (DatabaseError, OperationalError, InterfaceError, InternalError)

_URLS = (
    "set IPULSE_DATABASE_URL to sqlite:/// and a file's path, or to postgresql://USER@HOST/DATABASE"
)

Backend = SQLite | PostgreSQL

_log = logging.getLogger(__name__)


class Transaction:
    """A transaction: its connection, its time, and what to announce after the commit."""

    def __init__(
        self, connection: Connection, backend: Backend, clock: SteadyClock, is_writing: bool
    ) -> None:
        self.connection = connection
        self.replica = backend.replica
        self.is_writing = is_writing  # then it locks the rows that it reads to change them
        self.topics: set[str] = set()  # job ids and other topics to notify
        self.wake_ups: dict[int, WakeUp] = {}  # promised, by key in the outbox
        self.index_names: dict[str, dict[str, int]] = {}  # ids by kind, as far as they were read
        self._backend = backend
        self._clock = clock

    @cached_property
    def now(self) -> int:
        """The time in milliseconds since 1970 on the steady clock, read once."""
        return self._clock.read(self.connection, self.is_writing)

    def lock(self, name: str, patiently: bool = False) -> None:
        """Locks a name against other writing transactions until this one ends.

        Raises Unavailable after a while without success, or with `patiently` never.
        """
        self._backend.lock(self.connection, name, patiently)


class Database:
    """Opens transactions and announces commits.

    After a commit, `listeners` receive its topics and `wake_up_listeners` its wake-ups.
    """

    def __init__(self, url: str) -> None:
        """Raises Unavailable for an unsupported URL, and MissingDependency without the driver."""
        try:
            self.url = make_url(url)
        except (ArgumentError, ValueError) as error:  # may quote a password
            raise Unavailable(f"IPULSE_DATABASE_URL is no URL: {_URLS}") from error
        kind = self.url.get_backend_name()
        if not self.url.database or kind not in ("sqlite", "postgresql"):
            shown = self.url.render_as_string(hide_password=True)
            raise Unavailable(f"cannot use the database {shown}: {_URLS}")
        self.backend: Backend = SQLite(self.url) if kind == "sqlite" else PostgreSQL(self.url)
        self.clock = SteadyClock(self.backend.clock, is_of_this_machine=kind == "sqlite")
        self.key_locks = KeyedLock()  # between threads of this process
        self.listeners: list[Callable[[frozenset[str]], None]] = []
        self.wake_up_listeners: list[Callable[[dict[int, WakeUp]], None]] = []

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Opens a transaction that reads one consistent state and waits for no writer.

        Raises Unavailable when the database fails.
        """
        with self._translate_errors(), self.backend.reading.begin() as connection:
            yield Transaction(connection, self.backend, self.clock, is_writing=False)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Opens a transaction that is on disk when the block ends, and undone when it raises.

        It must not be nested. Raises Unavailable when the database fails or stays busy.
        """
        with (
            self.backend.turn(),
            self._translate_errors(),
            self.backend.writing.begin() as connection,
        ):
            transaction = Transaction(connection, self.backend, self.clock, is_writing=True)
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
        """Locks a name outside of transactions.

        It must be taken before a transaction. Raises Unavailable if it stays locked.
        """
        with self._translate_errors(), self.backend.exclusively(name):
            yield

    def free_pages(self) -> bool:
        """Returns some unused space to the disk, in a short transaction.

        Returns whether there is more. Raises Unavailable.
        """
        with self.write() as transaction:
            has_more = self.backend.free_pages(transaction.connection)
        if not has_more:
            with self._translate_errors():
                self.backend.checkpoint()
        return has_more

    def is_writable(self) -> bool:
        """Returns whether a row can be written: the disk may be full, the server read-only."""
        try:
            with self.write() as transaction:
                transaction.connection.execute(delete(trials))
                transaction.connection.execute(insert(trials).values(tried_at=transaction.now))
        except Unavailable:
            return False
        return True

    @contextmanager
    def migrating(self) -> Iterator[Transaction]:
        """Opens a transaction that changes the schema, while no other process does.

        Raises Unavailable when the database fails.
        """
        with self._translate_errors(), self.backend.migrating(), self.write() as transaction:
            yield transaction

    def is_fault_of_code(self, error: DBAPIError) -> bool:
        """Returns whether a constraint or a statement is wrong, and not the database fails."""
        return type(error) not in _TROUBLE or self.backend.is_wrong_statement(error)

    def close(self) -> None:
        """Closes all connections."""
        self.backend.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise Unavailable("the database is busy; try again in a few seconds") from error
        except (DatabaseError, InterfaceError) as error:
            if self.is_fault_of_code(error):
                raise
            # The driver's message is for the operator of the service.
            name = self.url.render_as_string(hide_password=True)
            facts = {"error": str(error.orig).strip(), "database": name}
            _log.warning("database_failed", extra=facts)
            fix = self.backend.fix(error.orig)
            problem = " ".join(f"{name}: {error.orig}".split())
            raise DatabaseFailed(f"{problem}: {fix}" if fix else problem, not fix) from error


def rfc3339(milliseconds: int | None) -> str | None:
    """Formats a stored time like `2026-01-31T12:00:00.000Z`, as the database's clock showed it."""
    if milliseconds is None:
        return None
    second, rest = divmod(calendar.shown(milliseconds), 1000)
    return f"{_second(second)}.{rest:03d}Z"


@lru_cache(1024)  # a page of a list has hundreds of times, many of them in the same second
def _second(since_1970: int) -> str:
    return datetime.fromtimestamp(since_1970, UTC).strftime("%Y-%m-%dT%H:%M:%S")
