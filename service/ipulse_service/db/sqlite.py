"""SQLite: one file with one writer at a time."""

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

CACHE_KIB = 512  # for each connection; the system caches the file as well
BUSY_SECONDS = 10.0  # how long a write waits for another writer before it gives up


class SQLite:
    """The engines on one database file."""

    # Milliseconds since 1970, the resolution of SQLite's clock.
    clock = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"

    def __init__(self, url: URL) -> None:
        self._path = Path(str(url.database))
        self._log = f"{self._path}-wal"
        # A connection for each of the server's 40 threads, the publisher and the reaper. The one
        # used last is used next, because its cache is warm.
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
        self._writer = threading.Lock()
        self._key_locks = KeyedLock()
        self._group_fsync = GroupFsync(self._sync_log)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Locks the database for a writer. Raises Unavailable if it stays locked."""
        if not self._writer.acquire(timeout=BUSY_SECONDS):
            raise Unavailable("the database is busy; try again in a few seconds")
        try:
            yield
        finally:
            self._writer.release()

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
            yield

    def close(self) -> None:
        """Closes all connections."""
        self.reading.dispose()


def _prepare_connection(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin in `_begin`, not in the driver
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    cursor.execute("PRAGMA journal_mode = WAL")
    # `sync` syncs the log, for several commits at once; SQLite does it only at checkpoints.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A writing transaction takes the write lock first: one that reads before could fail later
    # because another writer came between.
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
