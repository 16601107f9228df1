"""Compares the tables of a database with those that the code reads and writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Column, Connection, Table, inspect
from sqlalchemy.engine import Inspector
from sqlalchemy.schema import CreateColumn

from ipulse_core.errors import Unavailable
from ipulse_service.db.tables import metadata


def check_schema(connection: Connection) -> None:
    """Raises Unavailable, with the first difference and what mends it, for other tables.

    What the database has in addition is allowed, unless a row cannot be stored without it.
    """
    differences = list(_differences(connection))
    if differences:
        more = f", and {len(differences) - 1} more differences" if differences[1:] else ""
        raise Unavailable(
            f"the database does not have the tables of its revision: {differences[0]}{more}. "
            "Nothing was changed: repair the table, or restore an older backup"
        )


def _differences(connection: Connection) -> Iterator[str]:
    inspector: Inspector = inspect(connection)
    # One query for all tables, where the database has one.
    columns = {name: found for (_, name), found in inspector.get_multi_columns().items()}
    keys = {name: found for (_, name), found in inspector.get_multi_pk_constraint().items()}
    for table in metadata.sorted_tables:
        if table.name not in columns:
            yield f"it has no table {table.name}"
            continue
        stored: dict[str, Any] = {column["name"]: column for column in columns[table.name]}
        yield from _column_differences(table, stored, connection)
        key = keys[table.name]["constrained_columns"]
        wanted = [column.name for column in table.primary_key]
        if sorted(key) != sorted(wanted):
            yield f"the table {table.name} has the primary key {key} instead of {wanted}"


def _column_differences(
    table: Table, stored: dict[str, Any], connection: Connection
) -> Iterator[str]:
    for column in table.columns:
        if column.name not in stored:
            yield (
                f"the table {table.name} has no column {column.name} "
                f"(ALTER TABLE {table.name} ADD COLUMN {_ddl(column, connection)})"
            )
        elif stored[column.name]["nullable"] != column.nullable and not column.primary_key:
            null = "NULL" if column.nullable else "NOT NULL"
            yield f"the column {column.name} of the table {table.name} is not {null}"
    for name, found in stored.items():
        if name not in table.columns and not found["nullable"] and found["default"] is None:
            yield f"the table {table.name} has a column {name} that no row may lack"


def _ddl(column: Column[Any], connection: Connection) -> str:
    """Returns the definition of a column in SQL."""
    return str(CreateColumn(column).compile(dialect=connection.dialect))
