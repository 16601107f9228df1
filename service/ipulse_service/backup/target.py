"""The database that rows are restored to: nobody uses it, and it changes at once or not at all."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Protocol

from sqlalchemy import inspect, select, text

from ipulse_core.errors import Conflict, IPUlseError, Unavailable
from ipulse_service.backup.archive_file import sync_folder
from ipulse_service.backup.rows import RowSource, fill, has_same_rows, stay_open
from ipulse_service.db import migrations, tables
from ipulse_service.db.engine import Database, Transaction

# A database that has no row of these is as good as new: agents announce themselves again.
CONTENT = (
    tables.jobs,
    tables.sweeps,
    tables.datasets,
    tables.ops,
    tables.tokens,
    tables.uploads,
)
_IN_USE = "stop the service (and all its replicas) first"
_DATABASE_SUFFIXES = ("", "-wal", "-shm")


class Content(Enum):
    """The state of a database before it gets the rows of another."""

    NOTHING = "nothing"
    SAME = "the same rows"
    OTHER = "other rows"


class Target(Protocol):
    """A database of one kind."""

    name: str  # its URL without a password

    def refuse_users(self) -> None:
        """Raises Conflict while a service uses the database."""

    def examine(self, source: RowSource) -> Content:
        """Returns what the database has. Raises Unavailable if it is of a newer version."""

    def fill(self, source: RowSource) -> None:
        """Replaces all that the database has by the rows, at once or not at all.

        Raises InvalidInput if they do not fit, and Unavailable if the disk is full.
        """


@contextmanager
def target_at(url: str) -> Iterator[Target]:
    """Opens the database at a URL; a file of SQLite need not exist.

    Raises Unavailable for a URL that names none.
    """
    database = Database(url)
    try:
        yield _SQLite(database) if database.backend.replica == "" else _PostgreSQL(database)
    finally:
        database.close()


def refuse_loss(target: Target, content: Content) -> None:
    """Raises Conflict if a database has rows that would be lost."""
    if content is Content.OTHER:
        raise Conflict(
            f"the database {target.name} has jobs, data sets or tokens of its own, or is damaged: "
            "back it up (`ipulse backup`) and then replace it with --replace, or choose another "
            "home with --home"
        )


def _examined(database: Database, source: RowSource) -> Content:
    with database.read() as transaction:
        revision = migrations.revision_of(transaction)
        migrations.refuse_another_program(transaction)
        if revision is None:
            return Content.NOTHING
        if revision > migrations.newest():
            raise Unavailable(
                f"the database belongs to a newer version: it has revision {revision}, and this "
                f"version knows {migrations.newest()}. Use that version, or an empty database"
            )
        if _is_empty(transaction):
            return Content.NOTHING
        is_same = revision == migrations.newest() and has_same_rows(transaction, source)
        return Content.SAME if is_same else Content.OTHER


def _is_empty(transaction: Transaction) -> bool:
    there = set(inspect(transaction.connection).get_table_names())
    return not any(
        transaction.connection.execute(select(text("1")).select_from(table).limit(1)).first()
        for table in CONTENT
        if table.name in there
    )


class _SQLite:
    """A file. A new one is filled next to it and takes its place."""

    def __init__(self, database: Database) -> None:
        self._url = database.url
        self.name = self._url.render_as_string(hide_password=True)
        self._path = Path(str(self._url.database))

    def refuse_users(self) -> None:
        """Raises Conflict while another process has the file open; all of it is in one file then.

        A damaged file is nobody's.
        """
        if not self._path.exists():
            return
        try:
            with closing(sqlite3.connect(self._path, timeout=0)) as connection:
                # The write-ahead log is removed only while there is no other connection.
                connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise Conflict(f"a service uses {self._path}: {_IN_USE}") from error
        except sqlite3.DatabaseError:
            return

    def examine(self, source: RowSource) -> Content:
        """Returns what the file has: something else if it is damaged."""
        if not self._path.exists():
            return Content.NOTHING
        database = Database(self._url.render_as_string(hide_password=False))
        try:
            return _examined(database, source)
        except IPUlseError:
            if self._is_sound():
                raise
            return Content.OTHER
        finally:
            database.close()
            self.refuse_users()

    def _is_sound(self) -> bool:
        try:
            with closing(sqlite3.connect(self._path)) as connection:
                found: tuple[str] = connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.DatabaseError:
            return False
        return found == ("ok",)

    def fill(self, source: RowSource) -> None:
        """Fills a new file, which then takes the place of the present one."""
        draft = self._path.with_name(f".{self._path.name}.restored")
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for suffix in _DATABASE_SUFFIXES:
            Path(f"{draft}{suffix}").unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        database = Database(self._url.set(database=str(draft)).render_as_string(False))
        try:
            with database.write() as transaction:
                fill(transaction, source)
            database.close()
            with closing(sqlite3.connect(draft)) as connection:
                connection.execute("PRAGMA journal_mode = DELETE")
            self._put(draft)
        finally:
            database.close()
            for suffix in _DATABASE_SUFFIXES:
                Path(f"{draft}{suffix}").unlink(missing_ok=True)

    def _put(self, draft: Path) -> None:
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        if self._path.exists() and not self._is_sound():
            # Kept for those who may read more of it; its log must not meet the new file.
            mark = f".damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"
            for suffix in reversed(_DATABASE_SUFFIXES):
                present = Path(f"{self._path}{suffix}")
                if present.exists():
                    present.rename(f"{self._path}{mark}{suffix}")
        draft.replace(self._path)
        sync_folder(self._path.parent)


class _PostgreSQL:
    """Replaces the tables of a database in one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.name = database.url.render_as_string(hide_password=True)

    def refuse_users(self) -> None:
        """Raises Conflict while others are connected."""
        query = text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() "
            "AND COALESCE(backend_type, 'client backend') = 'client backend'"
        )
        with self._database.read() as transaction:
            others = transaction.connection.execute(query).scalar_one()
        if others:
            raise Conflict(f"{others} connections use {self.name}: {_IN_USE}")

    def examine(self, source: RowSource) -> Content:
        """Returns what the database has."""
        return _examined(self._database, source)

    def fill(self, source: RowSource) -> None:
        """Replaces the tables and their rows in one transaction."""
        with self._database.migrating() as transaction:
            stay_open(transaction.connection)
            transaction.lock("migration", patiently=True)
            names = [*reversed(tables.metadata.sorted_tables)]
            for name in (*(table.name for table in names), "alembic_version"):
                transaction.connection.execute(text(f'DROP TABLE IF EXISTS "{name}" CASCADE'))
            fill(transaction, source)


@contextmanager
def writers_excluded(path: Path) -> Iterator[None]:
    """Keeps all others from writing to a SQLite file, as a service that starts meanwhile."""
    with closing(sqlite3.connect(path, timeout=0)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise Conflict(f"a service uses {path}: {_IN_USE}") from error
        yield
