"""The rows of a database as text that is the same for SQLite and PostgreSQL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import (
    Connection,
    MetaData,
    String,
    Table,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import DataError, IntegrityError

from ipulse_core.errors import InvalidInput, Problem, Unavailable
from ipulse_service.backup.archive_file import ArchiveReader, Manifest, TableFacts
from ipulse_service.db import migrations
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import metadata

READ_AT_ONCE = 100  # rows; one may have some megabytes
BATCH_ROWS, BATCH_BYTES = 1_000, 4 * 2**20  # of one statement

Row = list[Any]
# Not in backups: sessions of browsers end with a restore.
NOT_BACKED_UP = ("web_sessions", "trials")


class RowSource(Protocol):
    """Rows that are copied into a database."""

    @property
    def revision(self) -> str:
        """The revision of their schema."""

    @property
    def tables(self) -> Mapping[str, TableFacts]:
        """The tables and what is known of each."""

    def lines(self, table: str) -> Iterator[bytes]:
        """Yields the rows of a table as JSON arrays, in order of the primary key."""


@dataclass(frozen=True)
class ArchivedRows:
    """The rows in a backup."""

    reader: ArchiveReader

    @property
    def revision(self) -> str:
        """The revision of their schema."""
        return self.manifest.revision

    @property
    def manifest(self) -> Manifest:
        """The manifest of the backup."""
        return self.reader.manifest

    @property
    def tables(self) -> Mapping[str, TableFacts]:
        """The tables and what is known of each."""
        return self.manifest.tables

    def lines(self, table: str) -> Iterator[bytes]:
        """Yields the rows of a table."""
        yield from self.reader.lines(f"tables/{table}.jsonl")


class DatabaseRows:
    """The rows of a database of this version, in one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        """Reads all rows once, for their digests."""
        self.revision = migrations.newest()
        self._connection = transaction.connection
        self.tables: Mapping[str, TableFacts] = {
            table.name: facts_of(self._connection, table) for table in metadata.sorted_tables
        }

    def lines(self, table: str) -> Iterator[bytes]:
        """Yields the rows of a table."""
        yield from lines_of(self._connection, metadata.tables[table])


def stay_open(connection: Connection) -> None:
    """Lets a transaction wait for files of any size between two statements."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def lines_of(
    connection: Connection, table: Table, columns: Iterable[str] | None = None
) -> Iterator[bytes]:
    """Yields the rows of a table as JSON arrays with a line feed, in order of the primary key."""
    chosen = [table.c[name] for name in columns] if columns is not None else list(table.c)
    is_postgresql = connection.dialect.name == "postgresql"
    order = [
        # The order of bytes, as SQLite's, whatever the language of the server.
        column.collate("C") if is_postgresql and isinstance(column.type, String) else column
        for column in table.primary_key
    ]
    query = select(*chosen).order_by(*order).execution_options(yield_per=READ_AT_ONCE)
    with connection.execute(query) as found:
        for row in found:
            yield json.dumps(list(row), separators=(",", ":")).encode() + b"\n"


def facts_of(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...] | None = None,
    write: Callable[[bytes], None] = lambda _: None,
) -> TableFacts:
    """Returns what is known of a table, and passes its rows to `write`."""
    names = columns or tuple(table.c.keys())
    hasher, rows = hashlib.sha256(), 0
    for line in lines_of(connection, table, names):
        hasher.update(line)
        write(line)
        rows += 1
    return TableFacts(
        columns=names, rows=rows, sha256=hasher.hexdigest(), last_key=_last_key(connection, table)
    )


def fill(transaction: Transaction, source: RowSource) -> None:
    """Makes the tables in an empty database, fills them, and compares all rows with the source.

    The tables are made as they were at the revision of the source, and upgraded then. Raises
    InvalidInput if the rows do not fit, and Unavailable if other rows are read back.
    """
    tables = _make_tables(transaction, source.revision)
    connection = transaction.connection
    for table in tables.sorted_tables:
        if table.name in source.tables:
            _insert(connection, table, source)
    unknown = sorted(set(source.tables) - set(tables.tables))
    if unknown:
        raise _misfit(f"no revision {source.revision} has a table {unknown[0]}")
    for name, facts in source.tables.items():
        stored = facts_of(connection, tables.tables[name], facts.columns)
        if (stored.rows, stored.sha256) != (facts.rows, facts.sha256):
            raise Unavailable(
                f"the table {name} was not stored as it is: {facts.rows} rows were written, "
                f"{stored.rows} are read, with another digest. Nothing was changed"
            )
    if source.revision != migrations.newest():
        migrations.migrate(transaction)
    migrations.check_schema(connection)
    for name, facts in source.tables.items():
        if facts.last_key and name in metadata.tables:
            _set_last_key(connection, metadata.tables[name], facts.last_key)


def has_same_rows(transaction: Transaction, source: RowSource) -> bool:
    """Returns whether a database of this version has the rows of the source."""
    if source.revision != migrations.newest():
        return False
    for name, facts in source.tables.items():
        stored = facts_of(transaction.connection, metadata.tables[name], facts.columns)
        if (stored.rows, stored.sha256) != (facts.rows, facts.sha256):
            return False
    return True


def _make_tables(transaction: Transaction, revision: str) -> MetaData:
    if revision == migrations.newest():
        migrations.create(transaction)
        return metadata
    migrations.migrate(transaction, to=revision)
    reflected = MetaData()
    reflected.reflect(transaction.connection)
    for table in reversed(reflected.sorted_tables):  # a revision may add rows of its own
        if table.name in metadata.tables:
            transaction.connection.execute(delete(table))
    return reflected


def _insert(connection: Connection, table: Table, source: RowSource) -> None:
    facts = source.tables[table.name]
    unknown = [name for name in facts.columns if name not in table.c]
    if unknown:
        raise _misfit(f"the table {table.name} has no column {unknown[0]}")
    statement, batch, size = insert(table), list[dict[str, Any]](), 0
    number = 0
    try:
        for line in source.lines(table.name):
            number += 1
            batch.append(dict(zip(facts.columns, json.loads(line), strict=True)))
            size += len(line)
            if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
                connection.execute(statement, batch)
                batch, size = [], 0
        if batch:
            connection.execute(statement, batch)
    except (DataError, IntegrityError) as error:
        reason = " ".join(str(error.orig).split())
        raise _misfit(
            f"rows {number - len(batch) + 1} to {number} of {table.name}: {reason}"
        ) from (error)
    except (ValueError, TypeError) as error:
        raise _misfit(f"row {number} of {table.name} is not one") from error


def _misfit(why: str) -> InvalidInput:
    detail = f"these rows do not fit the database: {why}. Nothing was changed"
    return InvalidInput([Problem("/archive", "invalid_rows", detail)], detail)


def _last_key(connection: Connection, table: Table) -> int | None:
    """Returns the greatest key that the database has given to a row; None without a counter."""
    column = table.autoincrement_column
    if column is None:
        return None
    if connection.dialect.name == "sqlite":
        if inspect(connection).has_table("sqlite_sequence"):
            query = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
            seq = connection.execute(query, {"name": table.name}).scalar_one_or_none()
            if seq is not None:
                return int(seq)
        return int(connection.execute(select(func.max(column))).scalar_one() or 0)
    name = _sequence(connection, table)
    row = connection.execute(text(f"SELECT last_value, is_called FROM {name}")).one()  # noqa: S608
    return int(row.last_value) if row.is_called else 0


def _set_last_key(connection: Connection, table: Table, key: int) -> None:
    if connection.dialect.name == "sqlite":
        if not table.dialect_options["sqlite"]["autoincrement"]:
            return  # its next key follows from its rows
        values = {"name": table.name, "seq": key}
        delete = text("DELETE FROM sqlite_sequence WHERE name = :name")
        connection.execute(delete, {"name": table.name})
        connection.execute(text("INSERT INTO sqlite_sequence VALUES (:name, :seq)"), values)
        return
    query = text("SELECT setval(CAST(:name AS regclass), :key)")
    connection.execute(query, {"name": _sequence(connection, table), "key": key})


def _sequence(connection: Connection, table: Table) -> str:
    column = table.autoincrement_column
    query = text("SELECT pg_get_serial_sequence(:table, :column)")
    values = {"table": table.name, "column": column.name if column is not None else ""}
    return str(connection.execute(query, values).scalar_one())
