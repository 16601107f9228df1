"""The history of the schema, upgraded by one process at a time when the service starts.

A new database is created from `tables` directly; a test checks that the revisions lead to the same
schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine import Inspector
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateColumn

from ipulse_core.errors import Conflict, Unavailable
from ipulse_service.db import people
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import metadata

_VERSIONS = Path(__file__).parent / "versions"
# Alembic's own table, as Alembic would create it.
_REVISION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def upgrade(database: Database) -> None:
    """Upgrades the schema to the newest revision; a killed or failed upgrade changes nothing.

    Raises Unavailable if the schema is newer than this code, if a revision does not fit the tables,
    and if they are not those of the code in the end; and Conflict if another program has tables of
    the same names.
    """
    with database.migrating() as transaction:
        transaction.lock("migration", patiently=True)  # a large database takes its time
        refuse_another_program(transaction)
        present = revision_of(transaction)
        if present is not None and present > newest():
            raise Unavailable(
                f"the database belongs to a newer version: it has revision {present}, and this "
                f"version knows {newest()}. Start the newer version again, or restore a backup "
                "from before the upgrade"
            )
        if present is None:
            create(transaction)
            people.add_first(transaction)
        elif present != newest():
            try:
                migrate(transaction)
            except DBAPIError as error:
                if not database.is_fault_of_code(error):
                    raise
                reason = str(error.orig).partition("\n")[0]
                raise Unavailable(
                    f"the database cannot be upgraded from revision {present}, because its tables "
                    f"are not those of that revision: {reason}. Nothing was "
                    "changed: repair the table, or restore an older backup"
                ) from error
        check_schema(transaction.connection)


def newest() -> str:
    """Returns the newest revision; files in `versions` begin with its number."""
    return max(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*_*.py"))


def migrate(transaction: Transaction, to: str = "head") -> None:
    """Runs the missing revisions in order."""
    # Imported only when needed: it takes a third of the service's start.
    from alembic import command
    from alembic.config import Config

    config = Config()
    # A single % would begin the name of another option.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = transaction.connection
    command.upgrade(config, to)


def revision_of(transaction: Transaction) -> str | None:
    """Returns the revision of a database, None if it has no tables of ours."""
    if not inspect(transaction.connection).has_table(_REVISION.name):
        return None
    query = select(_REVISION.c.version_num)
    revision: str | None = transaction.connection.execute(query).scalar_one_or_none()
    return revision


def refuse_another_program(transaction: Transaction) -> None:
    """Raises Conflict if tables of our names belong to another program."""
    revision = revision_of(transaction)
    if revision is not None and revision.isdigit():
        return
    ours = {*metadata.tables, _REVISION.name}
    found = sorted(ours.intersection(inspect(transaction.connection).get_table_names()))
    if found:
        raise Conflict(
            f"the database has a table {found[0]} of another program: use an empty database. "
            "Nothing was changed"
        )


def create(transaction: Transaction) -> None:
    """Makes the tables of the newest revision in an empty database."""
    metadata.create_all(transaction.connection, checkfirst=False)
    _REVISION.create(transaction.connection)
    transaction.connection.execute(insert(_REVISION).values(version_num=newest()))


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
