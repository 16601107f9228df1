"""The database: short transactions, and the time that all replicas share."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, delete, insert, make_url, text
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    InterfaceError,
    TimeoutError,
)
from sqlalchemy.sql.compiler import SQLCompiler

from ipulse_core.errors import Unavailable
from ipulse_service.db import audit, calendar
from ipulse_service.db.access import TRUSTED, Access
from ipulse_service.db.audit import AuditEntry
from ipulse_service.db.failures import DatabaseFailed
from ipulse_service.db.keyed_lock import KeyedLock
from ipulse_service.db.postgresql import PostgreSQL
from ipulse_service.db.sqlite import SQLite
from ipulse_service.db.steady_clock import SteadyClock
from ipulse_service.db.tables import outbox, trials
from ipulse_service.db.wake_up import WakeUp

DAY_MS = 86_400_000

_URLS = (
    "set IPULSE_DATABASE_URL to sqlite:/// and a file's path, or to postgresql://USER@HOST/DATABASE"
)

Backend = SQLite | PostgreSQL

_PROMISE = insert(outbox).returning(outbox.c.pk, outbox.c.job_pk)

_log = logging.getLogger(__name__)


class Transaction:
    """A transaction: its connection, time and rights, and what to announce after the commit."""

    def __init__(
        self,
        connection: Connection,
        backend: Backend,
        clock: SteadyClock,
        is_writing: bool,
        access: Access,
        usage_half_life_ms: float = DAY_MS * 7,
    ) -> None:
        self.connection = connection
        self.access = access  # of the caller; what it may not see is not found
        self.replica = backend.replica
        self.is_writing = is_writing  # then it locks the rows that it reads to change them
        self.usage_half_life_ms = usage_half_life_ms  # see `quotas.usage`
        self.audited: list[AuditEntry] = []  # written last, before the commit
        self.topics: set[str] = set()  # job ids and other topics to notify
        self.wake_ups: dict[int, WakeUp] = {}  # promised, by key in the outbox
        self.index_names: dict[str, dict[str, int]] = {}  # ids by kind, as far as they were read
        self.webhooks: list[tuple[int, str, str]] | None = None  # that are on, once they were read
        self.admitted: set[object] = set()  # needs of jobs that some agent meets
        self.pools: dict[str, Any] | None = None  # by name, once they were read
        self.quotas: dict[tuple[str, str], Any] = {}  # limits by project and owner, once read
        self.quota_used: dict[object, Any] = {}  # how much of a quota is used, with this
        self._promised: dict[int, WakeUp] = {}  # by key of the job
        self._rows: dict[Insert, list[dict[str, Any]]] = {}
        self._backend = backend
        self._clock = clock

    @contextmanager
    def acting_for(self, access: Access) -> Iterator[None]:
        """Uses the rights of somebody else within the block, as those of a sweep's owner."""
        former, self.access = self.access, access
        try:
            yield
        finally:
            self.access = former

    @cached_property
    def now(self) -> int:
        """The time in milliseconds since 1970 on the steady clock, read once."""
        return self._clock.read(self.connection, self.is_writing)

    @cached_property
    def xid(self) -> int:
        """The number of the transaction in PostgreSQL, 0 in SQLite, which has one writer."""
        if self.connection.dialect.name == "sqlite":
            return 0
        query = text("SELECT pg_current_xact_id()::text::bigint")
        return int(self.connection.execute(query).scalar_one())

    def audit(self, action: str, target: str, project: str | None = None, detail: str = "") -> None:
        """Notes for the audit log what the caller does, unless it is the service itself."""
        if self.access.is_person:
            self.audited.append(AuditEntry(action, target, project, detail))

    def insert_last(self, statement: Insert, rows: Sequence[dict[str, Any]]) -> None:
        """Stores rows before the commit, in one statement with others of the transaction.

        The transaction must not read them.
        """
        if rows:
            self._rows.setdefault(statement, []).extend(rows)

    def promise(self, job_pk: int, wake_up: WakeUp) -> None:
        """Stores a wake-up for a job before the commit, in one statement with the others."""
        self._promised[job_pk] = wake_up

    def insert_rows(self) -> None:
        """Stores the wake-ups of `promise` and the rows of `insert_last`."""
        if self._promised:
            rows = [{"job_pk": job_pk} for job_pk in self._promised]
            for row in self.connection.execute(_PROMISE, rows):
                self.wake_ups[row.pk] = self._promised[row.job_pk]
            self._promised = {}
        for statement, rows in self._rows.items():
            # Without SQLAlchemy's work for each row, which takes thrice as long as SQLite's.
            compiled = _compiled(statement, self.connection.dialect, tuple(rows[0]))
            given: Any = rows
            if compiled.positiontup:
                given = [*map(itemgetter(*compiled.positiontup), rows)]
            self.connection.exec_driver_sql(compiled.string, given)
        self._rows = {}

    @contextmanager
    def without_sorting(self) -> Iterator[None]:
        """Lets the statements of the block use indexes that have their order."""
        with self._backend.without_sorting(self.connection):
            yield

    def lock(self, name: str, patiently: bool = False) -> None:
        """Locks a name against other writing transactions until this one ends.

        Raises Unavailable after a while without success, or with `patiently` never.
        """
        self._backend.lock(self.connection, name, patiently)


@lru_cache(64)
def _compiled(statement: Insert, dialect: Dialect, columns: tuple[str, ...]) -> SQLCompiler:
    return statement.compile(dialect=dialect, column_keys=[*columns])


class Database:
    """Opens transactions and announces commits.

    After a commit, `listeners` receive its topics and `wake_up_listeners` its wake-ups.
    """

    access = TRUSTED  # of its transactions
    usage_half_life_ms: float = DAY_MS * 7  # after which half of the used device time is forgotten

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

    def acting_for(self, access: Access) -> Database:
        """Returns the same database with the rights of a caller in its transactions."""
        bound = copy.copy(self)
        bound.access = access
        return bound

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Opens a transaction that reads one consistent state and waits for no writer.

        Raises Unavailable when the database fails.
        """
        with self._translate_errors(), self.backend.reading.begin() as connection:
            yield self._transaction(connection, False)

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
            transaction = self._transaction(connection, True)
            yield transaction
            transaction.insert_rows()
            if transaction.audited:
                audit.write(transaction, transaction.audited)
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
        return self.backend.is_fault_of_code(error)

    def _transaction(self, connection: Connection, is_writing: bool) -> Transaction:
        half_life = self.usage_half_life_ms
        return Transaction(connection, self.backend, self.clock, is_writing, self.access, half_life)

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
