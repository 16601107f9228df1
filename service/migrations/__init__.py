"""The schema's history. Brought up to date when the service starts, one process at a time."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import inspect, text

from ipulse.errors import Unavailable
from service.database import Database, Transaction

_VERSIONS = Path(__file__).parent / "versions"


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
        if present != newest():
            _upgrade(transaction)


def newest() -> str:
    """The last revision there is: files in `versions` begin with their number."""
    return max(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*_*.py"))


def _revision(transaction: Transaction) -> str | None:
    if not inspect(transaction.connection).has_table("alembic_version"):
        return None
    query = text("SELECT version_num FROM alembic_version")
    revision: str | None = transaction.connection.execute(query).scalar_one_or_none()
    return revision


def _upgrade(transaction: Transaction) -> None:
    # Imported only where there is something to do: it takes as long as all the rest of a start.
    from alembic import command
    from alembic.config import Config

    config = Config()
    # In such a file a single % would begin the name of another option.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = transaction.connection
    command.upgrade(config, "head")
