"""SQLite: one file with one writer at a time."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.exc import DBAPIError

from ipulse_core.errors import Conflict, Unavailable
from ipulse_core.worker_faults import errors_name
from ipulse_service.db.failures import TROUBLE
from ipulse_service.db.group_fsync import GroupFsync
from ipulse_service.db.keyed_lock import KeyedLock
from ipulse_service.db.write_turns import WriteTurns

CACHE_KIB = 512  # for each connection; the system caches the file as well
LOG_BYTES = 16 * 2**20  # to which a longer log is cut after a checkpoint
FREE_PAGES = 1_000  # are left for new rows
PAGES_AT_ONCE = 250  # are moved in one transaction: about 1 MB, a few milliseconds
REBUILT_BYTES = 2**30  # a larger file is not rebuilt while the service starts
BUSY_SECONDS = 10.0  # how long a write waits for another writer before it gives up

# By the beginning of SQLite's name of an error. All other failures may pass by themselves.
_OPEN_FIX = "make the file and its folder readable and writable for the user of the service"
_FIXES = (
    ("SQLITE_NOTADB", "move the file away, or set IPULSE_DATABASE_URL to another one"),
    ("SQLITE_CORRUPT", "restore a backup of the home"),
    ("SQLITE_CANTOPEN", _OPEN_FIX),
    ("SQLITE_READONLY", _OPEN_FIX),
    ("SQLITE_PERM", _OPEN_FIX),
    ("SQLITE_FULL", "free space on the disk of the file"),
)

_INCREMENTAL = 2  # a value of auto_vacuum
_log = logging.getLogger(__name__)


def moved_file(path: Path) -> Path:
    """Returns the name of a database after its rows were moved to PostgreSQL."""
    return path.with_name(f"{path.name}.moved")


def refuse_moved(url: URL) -> None:
    """Raises Conflict if a new database would take the place of one that was moved."""
    if url.get_backend_name() != "sqlite":
        return
    path = Path(str(url.database))
    kept = moved_file(path)
    if kept.exists() and not path.exists():
        raise Conflict(
            f"the database {path} was moved to PostgreSQL: set IPULSE_DATABASE_URL as `ipulse "
            f"migrate` said. To go back to the rows of that time, rename {kept.name} to {path.name}"
        )


class SQLite:
    """The engines on one database file."""

    # Milliseconds since 1970, the resolution of SQLite's clock.
    clock = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"
    replica = ""  # one service has the file

    def __init__(self, url: URL) -> None:
        self._path = Path(str(url.database))
        self._log = f"{self._path}-wal"
        # A connection for each thread of the server and of the background. The one used last is
        # used next, because its cache is warm.
        self.reading = create_engine(
            url,
            pool_size=42,
            max_overflow=8,
            pool_use_lifo=True,
            hide_parameters=True,  # keeps specs and digests of tokens out of the log
        )
        event.listen(self.reading, "connect", _prepare_connection)
        event.listen(self.reading, "begin", _begin)
        self.writing = self.reading.execution_options(begin="BEGIN IMMEDIATE")
        # Waiting writers would poll in SQLite; in one process a lock lets them queue.
        self._write_turns = WriteTurns()
        self._key_locks = KeyedLock()
        self._group_fsync = GroupFsync(self._sync_log)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Locks the database for a writer. Raises Unavailable if it stays locked."""
        with self._write_turns.turn(BUSY_SECONDS) as is_mine:
            if not is_mine:
                raise Unavailable("the database is busy; try again in a few seconds")
            yield

    @contextmanager
    def without_sorting(self, connection: Connection) -> Iterator[None]:
        """Does nothing: SQLite uses the index that has the order."""
        yield

    def sync(self) -> None:
        """Returns once what this thread has committed survives a power cut.

        It is called without the writer's lock, so that one fsync serves several commits. Raises
        Unavailable when the disk fails.
        """
        try:
            self._group_fsync.wait()
        except OSError as error:
            raise Unavailable(f"the database's disk fails: {error.strerror}") from error

    def _sync_log(self) -> None:
        # Closing this descriptor drops no lock: SQLite locks other files than its log.
        log = os.open(self._log, os.O_RDONLY)
        try:
            with errors_name(self._log):
                os.fdatasync(log)
        finally:
            os.close(log)

    def lock(self, _connection: Connection, _name: str, _patiently: bool) -> None:
        """Does nothing: there is one writer at a time."""

    @contextmanager
    def exclusively(self, name: str) -> Iterator[None]:
        """Locks a name between the threads of this process, the only user of the file."""
        with self._key_locks.acquire(name, BUSY_SECONDS) as is_acquired:
            if not is_acquired:
                raise Unavailable(f"{name} is in use; try again in a few seconds")
            yield

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Locks the schema against other processes."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.with_name(self._path.name + ".migrate").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._make_shrinkable()
            yield

    def _make_shrinkable(self) -> None:
        """Rebuilds a file of an earlier version once, so that `free_pages` can shrink it."""
        with self.reading.connect().execution_options(begin="") as connection:
            if connection.exec_driver_sql("PRAGMA auto_vacuum").scalar_one() == _INCREMENTAL:
                return
            size = self._path.stat().st_size
            if size > REBUILT_BYTES or shutil.disk_usage(self._path.parent).free < 2 * size:
                _log.warning("database_cannot_shrink", extra={"path": str(self._path)})
                return
            connection.exec_driver_sql("PRAGMA auto_vacuum = INCREMENTAL")
            connection.exec_driver_sql("VACUUM")
        self.checkpoint()

    def fix(self, error: BaseException | None) -> str:
        """Returns what the operator can do about an error; "" if waiting may help."""
        name = str(getattr(error, "sqlite_errorname", ""))
        return next((fix for prefix, fix in _FIXES if name.startswith(prefix)), "")

    def checkpoint(self) -> None:
        """Moves what is committed from the log to the file, which then gets its new size."""
        with self.reading.connect().execution_options(begin="") as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    def free_pages(self, connection: Connection) -> bool:
        """Returns some free pages to the disk; returns whether there are more."""
        if connection.exec_driver_sql("PRAGMA auto_vacuum").scalar_one() != _INCREMENTAL:
            return False
        free = int(connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()) - FREE_PAGES
        for _ in range(min(free, PAGES_AT_ONCE)):  # the driver executes one step, which is a page
            connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
        return free > PAGES_AT_ONCE

    def is_fault_of_code(self, error: DBAPIError) -> bool:
        """Returns whether a constraint or a statement is wrong, and not the database fails."""
        # The driver calls a statement with an unknown column an operational error; SQLITE_ERROR is
        # the code of nothing else.
        is_wrong = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
        return is_wrong or type(error) not in TROUBLE

    def close(self) -> None:
        """Closes all connections."""
        self.reading.dispose()


def _prepare_connection(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin in `_begin`, not in the driver
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    if cursor.execute("PRAGMA page_count").fetchone() == (0,):
        # A new file: its free pages can be returned to the disk. (In another, this would write.)
        cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")
    cursor.execute("PRAGMA journal_mode = WAL")
    # `sync` syncs the log, for several commits at once; SQLite does it only at checkpoints.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A writing transaction takes the write lock first: one that reads before could fail later
    # because another writer came between.
    begin = connection.get_execution_options().get("begin", "BEGIN")
    if begin:
        connection.exec_driver_sql(begin)
