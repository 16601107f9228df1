"""The schema's history. Brought up to date when the service starts, one process at a time."""

from __future__ import annotations

import fcntl
from pathlib import Path

from alembic import command
from alembic.config import Config

from service.database import Database


def upgrade(database: Database) -> None:
    """Brings the schema to the newest revision; a killed upgrade leaves the old one intact."""
    path = Path(str(database.url.database))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.with_name(path.name + ".migrate").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent))
        with database.write() as transaction:
            config.attributes["connection"] = transaction.connection
            command.upgrade(config, "head")
