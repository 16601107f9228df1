"""The schema's history. Brought up to date when the service starts, one process at a time.

A new database is made of `tables` at once, which is what the revisions lead to: a test compares
both.
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

from ipulse_core.errors import Unavailable
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import metadata

_VERSIONS = Path(__file__).parent / "versions"
# Alembic's own table, as it would make it.
_REVISION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def upgrade(database: Database) -> None:
    """Brings the schema to the newest revision; a killed upgrade leaves the old one intact.

    Raises Unavailable for a schema that is newer than this code.
    """
    with database.backend.migrating(), database.write() as transaction:
        transaction.lock("migration", patiently=True)  # a large database takes its time
        present = _revision(transaction)
        if present is not None and present > newest():
            raise Unavailable(
                f"the database is that of a newer version: it has revision {present}, and this "
                f"one knows {newest()}. Start the newer version again, or restore a backup of "
                "the time before the upgrade"
            )
        if present is None:
            _create(transaction)
        elif present != newest():
            migrate(transaction)


def newest() -> str:
    """The last revision there is: files in `versions` begin with their number."""
    return max(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*_*.py"))


def migrate(transaction: Transaction, to: str = "head") -> None:
    """Runs the revisions that the database lacks, in order."""
    # Imported only where there is something to do: it takes longer than making a new database.
    from alembic import command
    from alembic.config import Config

    config = Config()
    # In such a file a single % would begin the name of another option.
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
    # Unchecked: tables that somebody else has made here are no tables of ours.
    metadata.create_all(transaction.connection, checkfirst=False)
    _REVISION.create(transaction.connection)
    transaction.connection.execute(insert(_REVISION).values(version_num=newest()))
