"""PostgreSQL: several writers, and several replicas of the service on one database."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from sqlalchemy import URL, Connection, create_engine, text
from sqlalchemy.exc import DBAPIError, NotSupportedError

from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency
from ipulse_service.db.failures import TROUBLE

LOCK_SECONDS = 10  # the longest wait for a row that another transaction has locked
STATEMENT_SECONDS = 30
IDLE_SECONDS = 60  # after this time without a statement, a transaction of a hung replica ends
CONNECT_SECONDS = 5
DRIVER = "postgresql+psycopg"

# By words of the server's answer to a connection. All other failures may pass by themselves.
_FIXES = tuple(
    (re.compile(pattern), fix)
    for pattern, fix in (
        (
            "28P01|password authentication failed|no password supplied",
            "put the right password into PGPASSFILE or PGPASSWORD of the service",
        ),
        (
            'role ".*" does not exist|28000|authentication failed|no pg_hba.conf entry',
            "name a user in IPULSE_DATABASE_URL that the server lets in (pg_hba.conf)",
        ),
        (
            '3D000|database ".*" does not exist',
            "create it (`createdb`), or name another one in IPULSE_DATABASE_URL",
        ),
    )
)

_OPTIONS = " ".join(
    f"-c {name}={value}"
    for name, value in (
        ("lock_timeout", f"{LOCK_SECONDS}s"),
        ("statement_timeout", f"{STATEMENT_SECONDS}s"),
        ("idle_in_transaction_session_timeout", f"{IDLE_SECONDS}s"),
        # Every statement has an index and reads few rows. Without statistics, as after a restore,
        # the server would read whole tables and start parallel workers or its compiler.
        ("enable_seqscan", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("jit", "off"),
    )
)


_SORTS = ("enable_sort", "enable_incremental_sort")


class PostgreSQL:
    """The engines on one database: readers see one state, writers lock the rows they read."""

    # Not the transaction's start, which may be long before if it waited for a lock.
    clock = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"

    def __init__(self, url: URL) -> None:
        """Raises MissingDependency without the driver."""
        self.replica = secrets.token_hex(8)  # names this process among those on one database
        if importlib.util.find_spec("psycopg") is None:
            raise MissingDependency(
                "PostgreSQL needs psycopg 3, which is not installed: "
                + install_hint("postgresql", "ipulse-service")
            )
        engine = create_engine(
            url.set(drivername=DRIVER),
            hide_parameters=True,  # keeps specs and digests of tokens out of the log
            pool_size=10,
            max_overflow=32,  # with these, one for each thread of the service
            pool_timeout=LOCK_SECONDS,
            pool_use_lifo=True,  # the connection used last has its statements prepared
            pool_pre_ping=True,  # no request fails because the server was restarted
            connect_args={"options": _OPTIONS, "connect_timeout": CONNECT_SECONDS},
        )
        self.writing = engine.execution_options(isolation_level="READ COMMITTED")
        self.reading = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        # For locks outside of transactions: an idle transaction would be ended.
        self._alone = engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Does nothing: rows are locked, not the database."""
        yield

    def sync(self) -> None:
        """Does nothing: the server syncs its log before it acknowledges a commit."""

    def lock(self, connection: Connection, name: str, patiently: bool) -> None:
        """Locks a name until the transaction ends."""
        bounds = ("lock_timeout", "statement_timeout") if patiently else ()
        for bound in bounds:
            connection.execute(text(f"SET LOCAL {bound} = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _key(name)})
        for bound in bounds:
            connection.execute(text(f"SET LOCAL {bound} TO DEFAULT"))

    @contextmanager
    def without_sorting(self, connection: Connection) -> Iterator[None]:
        """Lets statements use the index that has their order, also without statistics."""
        for kind in _SORTS:
            connection.execute(text(f"SET LOCAL {kind} = off"))
        yield
        for kind in _SORTS:
            connection.execute(text(f"SET LOCAL {kind} TO DEFAULT"))

    @contextmanager
    def exclusively(self, name: str) -> Iterator[None]:
        """Locks a name for this session."""
        with self._alone.connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _key(name)})
            try:
                yield
            finally:
                try:
                    connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _key(name)})
                except BaseException:
                    connection.invalidate()  # closing the connection releases the lock
                    raise

    def fix(self, error: BaseException | None) -> str:
        """Returns what the operator can do about an error; "" if waiting may help."""
        # The driver has no code for what the server answers to a connection.
        text = f"{getattr(error, 'sqlstate', '')} {error}"
        return next((fix for pattern, fix in _FIXES if pattern.search(text)), "")

    def migrating(self) -> nullcontext[None]:
        """Does nothing: the migration's transaction takes a lock."""
        return nullcontext()

    def free_pages(self, _connection: Connection) -> bool:
        """Does nothing: the server's autovacuum takes care of free pages."""
        return False

    def checkpoint(self) -> None:
        """Does nothing: the server does so by itself."""

    def is_fault_of_code(self, error: DBAPIError) -> bool:
        """Returns whether a constraint or a statement is wrong, and not the database fails."""
        return type(error) not in TROUBLE and not _is_of_a_standby(error)

    def close(self) -> None:
        """Closes all connections."""
        self.writing.dispose()


def _is_of_a_standby(error: DBAPIError) -> bool:
    """Returns whether a server refuses to write because it was not promoted yet.

    It says "feature not supported", in words of the server's language, where it checks settings, as
    that of a transaction to write; statements are checked elsewhere.
    """
    place = getattr(getattr(error.orig, "diag", None), "source_file", None)  # may be a path
    return isinstance(error, NotSupportedError) and str(place).endswith("guc.c")


def _key(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
