"""The history of the schema, upgraded by one process at a time when the service starts.

A new database is created from `tables` directly; a test checks that the revisions lead to the same
schema.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import (
    Column,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    insert,
    inspect,
    select,
)
from sqlalchemy.exc import DBAPIError

from ipulse_core.errors import Unavailable
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.schema_check import check_schema
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
    and if they are not those of the code in the end.
    """
    with database.migrating() as transaction:
        transaction.lock("migration", patiently=True)  # a large database takes its time
        present = _revision(transaction)
        if present is not None and present > newest():
            raise Unavailable(
                f"the database belongs to a newer version: it has revision {present}, and this "
                f"version knows {newest()}. Start the newer version again, or restore a backup "
                "from before the upgrade"
            )
        if present is None:
            _create(transaction)
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


def _revision(transaction: Transaction) -> str | None:
    if not inspect(transaction.connection).has_table(_REVISION.name):
        return None
    query = select(_REVISION.c.version_num)
    revision: str | None = transaction.connection.execute(query).scalar_one_or_none()
    return revision


def _create(transaction: Transaction) -> None:
    # Unchecked: existing tables of these names belong to another application.
    metadata.create_all(transaction.connection, checkfirst=False)
    _REVISION.create(transaction.connection)
    transaction.connection.execute(insert(_REVISION).values(version_num=newest()))
