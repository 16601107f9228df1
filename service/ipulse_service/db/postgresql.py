"""PostgreSQL: many writers, and many replicas of the service on one database."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from sqlalchemy import URL, Connection, create_engine, text

from ipulse_core.errors import MissingDependency

LOCK_SECONDS = 10  # how long a statement waits for a row that another transaction holds
STATEMENT_SECONDS = 30
IDLE_SECONDS = 60  # a transaction that says nothing for so long belongs to a replica that hangs
CONNECT_SECONDS = 5
DRIVER = "postgresql+psycopg"

_OPTIONS = " ".join(
    f"-c {name}={value}"
    for name, value in (
        ("lock_timeout", f"{LOCK_SECONDS}s"),
        ("statement_timeout", f"{STATEMENT_SECONDS}s"),
        ("idle_in_transaction_session_timeout", f"{IDLE_SECONDS}s"),
        # Every statement of ours has its index and reads few rows. Where the server has no
        # statistics yet, as after a restore, it would guess, read whole tables, and start
        # processes or a compiler for that.
        ("enable_seqscan", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("jit", "off"),
    )
)


class PostgreSQL:
    """Engines on one database: readers see one moment, writers lock the rows they read."""

    # Of the moment itself: a transaction that waited for a lock began long before.
    clock = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"

    def __init__(self, url: URL) -> None:
        """Raises MissingDependency without the driver."""
        if importlib.util.find_spec("psycopg") is None:
            raise MissingDependency("PostgreSQL needs psycopg 3: pip install 'ipulse[postgresql]'")
        engine = create_engine(
            url.set(drivername=DRIVER),
            hide_parameters=True,  # specs and digests of tokens have no place in a log
            pool_size=10,
            max_overflow=32,  # with that, one for each thread of the server and the dispatcher
            pool_timeout=LOCK_SECONDS,
            pool_use_lifo=True,  # the one used last has its statements prepared
            pool_pre_ping=True,  # a server that was restarted costs no request
            connect_args={"options": _OPTIONS, "connect_timeout": CONNECT_SECONDS},
        )
        self.writing = engine.execution_options(isolation_level="READ COMMITTED")
        self.reading = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        # Outside of transactions: an idle one would be ended, and a store may take its time.
        self._alone = engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Open at once: rows are locked, not the database."""
        yield

    def sync(self) -> None:
        """There is nothing to do: a server syncs its log before it says that it has committed."""

    def lock(self, connection: Connection, name: str, patiently: bool) -> None:
        """Waits for whoever holds this name, and holds it until the transaction ends."""
        bounds = ("lock_timeout", "statement_timeout") if patiently else ()
        for bound in bounds:
            connection.execute(text(f"SET LOCAL {bound} = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _key(name)})
        for bound in bounds:
            connection.execute(text(f"SET LOCAL {bound} TO DEFAULT"))

    @contextmanager
    def exclusively(self, name: str) -> Iterator[None]:
        """Open while this session has the lock of a name, as no transaction of another can."""
        with self._alone.connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _key(name)})
            try:
                yield
            finally:
                try:
                    connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _key(name)})
                except BaseException:
                    connection.invalidate()  # a connection that ends gives its locks back
                    raise

    def migrating(self) -> nullcontext[None]:
        """The migration's transaction takes a lock of its own."""
        return nullcontext()

    def close(self) -> None:
        self.writing.dispose()


def _key(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
