"""SQLite: one file, one writer at a time, nothing to set up."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event

from ipulse_core.errors import Unavailable
from ipulse_service.files.group_fsync import GroupFsync
from ipulse_service.files.keyed_lock import KeyedLock

CACHE_KIB = 512  # of each connection; what falls out of it, the system still has in its memory
BUSY_SECONDS = 10.0  # how long a write waits for another writer before it gives up


class SQLite:
    """Engines on one file."""

    # Milliseconds since 1970. SQLite keeps time as whole milliseconds; the sum is only rounded.
    clock = "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"

    def __init__(self, url: URL) -> None:
        self._path = Path(str(url.database))
        self._log = f"{self._path}-wal"
        # A connection for each of the server's forty threads and the two of the dispatcher. The
        # one used last is used next: its cache is warm, and those of the others stay small.
        self.reading = create_engine(
            url,
            pool_size=42,
            max_overflow=8,
            pool_use_lifo=True,
            hide_parameters=True,  # specs and digests of tokens have no place in a log
        )
        event.listen(self.reading, "connect", _prepare_connection)
        event.listen(self.reading, "begin", _begin)
        self.writing = self.reading.execution_options(begin="BEGIN IMMEDIATE")
        # SQLite would let waiting writers poll; in one process they can simply queue.
        self._writer = threading.Lock()
        self._key_locks = KeyedLock()
        self._group = GroupFsync(self._sync_log)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Open while this thread may write. Raises Unavailable when its turn does not come."""
        if not self._writer.acquire(timeout=BUSY_SECONDS):
            raise Unavailable("the database is busy; try again in a few seconds")
        try:
            yield
        finally:
            self._writer.release()

    def sync(self) -> None:
        """Returns once what this thread has committed survives a power cut.

        Not in its turn, so that others commit meanwhile, and are synced together. Raises
        Unavailable when the disk fails.
        """
        try:
            self._group.wait()
        except OSError as error:
            raise Unavailable(f"the database's disk fails: {error.strerror}") from error

    def _sync_log(self) -> None:
        # SQLite has no lock on its log that closing another descriptor of it would drop.
        log = os.open(self._log, os.O_RDONLY)
        try:
            os.fdatasync(log)
        finally:
            os.close(log)

    def lock(self, _connection: Connection, _name: str, _patiently: bool) -> None:
        """There is nothing to do: who writes is alone."""

    @contextmanager
    def exclusively(self, name: str) -> Iterator[None]:
        """Open in this thread's turn for a name; all who use the file are in this process."""
        with self._key_locks.acquire(name, BUSY_SECONDS) as is_mine:
            if not is_mine:
                raise Unavailable(f"somebody else is at {name}; try again in a few seconds")
            yield

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Open while no other process changes the schema."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.with_name(self._path.name + ".migrate").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def close(self) -> None:
        self.reading.dispose()


def _prepare_connection(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin in `_begin`, not in the driver
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    cursor.execute("PRAGMA journal_mode = WAL")
    # The log is synced by `sync`, for many commits at once; SQLite itself does it only before it
    # copies from the log.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A transaction that reads first and writes later could fail half-way for want of the
    # write lock, so a writing one takes it before anything else.
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
