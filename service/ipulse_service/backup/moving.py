"""Moves the database of a home from SQLite to PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from ipulse.stack.home import Home
from ipulse_core.errors import Conflict, InvalidInput, Problem
from ipulse_service.backup import target
from ipulse_service.backup.archive_file import sync_folder
from ipulse_service.backup.making import opened_database, refuse_other_schema
from ipulse_service.backup.restoring import explained
from ipulse_service.backup.rows import DatabaseRows
from ipulse_service.db.sqlite import moved_file
from ipulse_service.settings import Settings


@dataclass(frozen=True)
class Moved:
    """The rows that were moved."""

    database: str  # URL of the new database, without its password
    kept: Path  # the former database, under another name
    rows: dict[str, int]  # by table
    was_there: bool  # the new database had them already


def move(settings: Settings, url: str) -> Moved:
    """Copies all rows to an empty PostgreSQL database and compares them, in one transaction.

    The stored files stay where they are. The former database gets the name `ipulse.db.moved`, so
    that no service runs its jobs again. If this is cut short, the same call completes it.

    Raises:
        InvalidInput: `url` is not that of a PostgreSQL database, or rows do not fit it.
        NotFound: The home has no database.
        Conflict: A service runs, the new database has content of its own, or the home was moved
            to another one before.
        Unavailable: A database fails.
    """
    _check_kinds(settings.database_url, url)
    path = Path(str(make_url(settings.database_url).database))
    kept = moved_file(path)
    with Home(settings.home).held(), explained():
        was_moved = not path.exists() and kept.exists()
        if was_moved:  # perhaps by a call that was cut short at its end
            path = kept
        moved = settings.model_copy(update={"database_url": f"sqlite:///{quote(str(path))}"})
        with opened_database(moved), target.target_at(moved.database_url) as present:
            present.refuse_users()
        with (
            target.writers_excluded(path),
            opened_database(moved) as database,
            database.read() as transaction,
            target.target_at(url) as new,
        ):
            refuse_other_schema(transaction)
            source = DatabaseRows(transaction)
            new.refuse_users()
            content = new.examine(source)
            target.refuse_loss(new, content)
            if was_moved and content is not target.Content.SAME:
                raise Conflict(
                    f"this home was moved to another database before, or {new.name} has changed "
                    f"since: jobs of {kept} would run twice. Set IPULSE_DATABASE_URL to that "
                    "database; to move the rows of that time all the same, rename the file to "
                    f"{path.name.removesuffix('.moved')}"
                )
            if content is not target.Content.SAME:
                new.fill(source)
            name = new.name
        with target.target_at(moved.database_url) as present:
            present.refuse_users()  # the file has all of its log then
        path.replace(kept)
        sync_folder(path.parent)
    rows = {name: facts.rows for name, facts in source.tables.items()}
    return Moved(name, kept, rows, content is target.Content.SAME)


def _check_kinds(present: str, url: str) -> None:
    if not present.startswith("sqlite"):
        detail = "IPULSE_DATABASE_URL names a PostgreSQL database already: only SQLite is moved"
        raise InvalidInput([Problem("/IPULSE_DATABASE_URL", "not_sqlite", detail)], detail)
    try:
        kind = make_url(url).get_backend_name()
    except (ArgumentError, ValueError):
        kind = ""
    if kind != "postgresql":
        detail = "must be the URL of an empty database: postgresql://USER@HOST/DATABASE"
        raise InvalidInput([Problem("/URL", "not_postgresql", detail)], f"URL {detail}")
