"""Makes a backup while the service runs: its database, its files and its keys in one archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ipulse_core.errors import NotFound, Unavailable
from ipulse_core.version import version
from ipulse_service.backup import key_files, projects
from ipulse_service.backup.archive_file import (
    CHUNK_BYTES,
    ArchiveWriter,
    Manifest,
    TableFacts,
    new_archive,
)
from ipulse_service.backup.rows import NOT_BACKED_UP, facts_of, stay_open
from ipulse_service.db import migrations
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.failures import DatabaseFailed
from ipulse_service.db.tables import metadata
from ipulse_service.files import stored
from ipulse_service.files.partial_upload import StoreTrouble, translate_os_errors
from ipulse_service.files.stored import Store
from ipulse_service.settings import Settings

SNAPSHOTS = 20  # tries to copy the files of one state of the database before they are replaced


@dataclass(frozen=True)
class Backup:
    """The contents of a backup."""

    path: Path
    jobs: int
    files: int
    keys: tuple[str, ...]
    missing: tuple[str, ...]  # digests of files that the store lacks or has damaged
    size: int  # bytes


def make(settings: Settings, path: Path, with_keys: bool = True) -> Backup:
    """Writes a backup to a new file.

    Files are copied first, then one state of the database is read, and the files that came in
    between are added, so that the archive has all files of that state.

    Raises:
        Conflict: There is a file at `path`, or another backup writes it.
        NotFound: There is no database.
        Unavailable: The disk is full, the database fails, or it has not the newest schema.
    """
    with opened_database(settings) as database, new_archive(path) as archive:
        store = stored.open_store(settings)
        with database.read() as transaction:
            refuse_other_schema(transaction)
            digests = stored.used_digests(transaction)
        _add_files(archive, store, digests)
        facts, missing = _add_state(archive, store, database)
        keys = tuple(_add_keys(archive, settings)) if with_keys else ()
        archive.end(_manifest(facts, keys, missing))
        files = _count_files(archive)
    return Backup(path, facts["jobs"].rows, files, keys, missing, path.stat().st_size)


def make_of_project(settings: Settings, path: Path, project: str) -> Backup:
    """Writes one project to a new file, for another service, without keys and tokens.

    Raises:
        Conflict: As `make`; or work of the project has not ended and is not paused.
        NotFound: There is no such project, or no database.
        Unavailable: As `make`.
    """
    with (
        opened_database(settings) as database,
        new_archive(path) as archive,
        database.read() as transaction,
    ):
        stay_open(transaction.connection)
        refuse_other_schema(transaction)
        facts = projects.write(archive, transaction, project)
        used = stored.used_digests(transaction, partial(projects.belongs, project=project))
        _add_files(archive, stored.open_store(settings), used)
        missing = _missing(archive, used)
        archive.end(_manifest(facts, (), missing, project))
        files = _count_files(archive)
    return Backup(path, facts["jobs"].rows, files, (), missing, path.stat().st_size)


@contextmanager
def opened_database(settings: Settings) -> Iterator[Database]:
    """Opens the database of a home, which must be there. Raises NotFound and Unavailable."""
    database = Database(settings.database_url)
    is_sqlite = database.url.get_backend_name() == "sqlite"
    if is_sqlite and not Path(str(database.url.database)).is_file():
        raise NotFound(
            f"there is no database at {database.url.database}: name the home with --home or "
            "IPULSE_HOME, or the database with IPULSE_DATABASE_URL; the first start of a service "
            "makes it"
        )
    try:
        yield database
    except DatabaseFailed as error:
        raise Unavailable(error.problem) from error
    finally:
        database.close()


def refuse_other_schema(transaction: Transaction) -> None:
    """Raises Unavailable unless the database has the newest schema."""
    revision = migrations.revision_of(transaction)
    if revision is None:
        raise Unavailable(
            "the database has no tables of IPUlse: name the home with --home or IPULSE_HOME"
        )
    if revision != migrations.newest():
        raise Unavailable(
            f"the database has revision {revision}, and this version works with "
            f"{migrations.newest()}: use the commands of the version that made it, or start the "
            "service of this version once, which upgrades an older database"
        )


def _manifest(
    facts: dict[str, TableFacts], keys: tuple[str, ...], missing: tuple[str, ...], project: str = ""
) -> Manifest:
    return Manifest(
        version=version(),
        revision=migrations.newest(),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tables=facts,
        keys=keys,
        missing=missing,
        project=project,
    )


def _count_files(archive: ArchiveWriter) -> int:
    return sum(name.startswith("files/") for name in archive.sums)


def _missing(archive: ArchiveWriter, used: Mapping[str, bool]) -> tuple[str, ...]:
    """Returns the digests of files that must be there and are not."""
    needed = (digest for digest, is_needed in used.items() if is_needed)
    return tuple(sorted(each for each in needed if f"files/{each}" not in archive.sums))


def _add_state(
    archive: ArchiveWriter, store: Store, database: Database
) -> tuple[dict[str, TableFacts], tuple[str, ...]]:
    """Adds all rows of one state, and its files that are not in the archive yet."""
    lacking: set[str] = set()
    for _ in range(SNAPSHOTS):
        with database.read() as transaction:
            stay_open(transaction.connection)
            refuse_other_schema(transaction)
            used = stored.used_digests(transaction)
            _add_files(archive, store, used)
            absent = {digest for digest in used if f"files/{digest}" not in archive.sums}
            # One that a later state needs, too, was not replaced meanwhile: it is missing.
            if absent <= lacking:
                return _add_tables(archive, transaction), _missing(archive, used)
            lacking |= absent
    raise Unavailable(
        f"jobs replace their files faster than they can be copied, {SNAPSHOTS} times: try again, "
        "or pause jobs with very frequent checkpoints"
    )


def _add_tables(archive: ArchiveWriter, transaction: Transaction) -> dict[str, TableFacts]:
    facts = {}
    for table in metadata.sorted_tables:
        if table.name in NOT_BACKED_UP:
            continue
        with archive.member(f"tables/{table.name}.jsonl") as member:
            facts[table.name] = facts_of(transaction.connection, table, write=member.write)
    return facts


def _add_files(archive: ArchiveWriter, store: Store, digests: Iterable[str]) -> None:
    """Adds the files that the store has undamaged, each once."""
    for sha256 in sorted(digests):
        if f"files/{sha256}" in archive.sums:
            continue
        try:
            source = store.open(sha256)
        except StoreTrouble as error:
            if is_absence(error):
                continue
            raise
        with source, archive.member(f"files/{sha256}") as member:
            for chunk in _chunks(source):
                member.write(chunk)
            member.is_wanted = member.sha256 == sha256


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while True:
        with translate_os_errors():  # of the store's disk, not of the archive's
            chunk = source.read(CHUNK_BYTES)
        if not chunk:
            return
        yield chunk


def is_absence(error: StoreTrouble) -> bool:
    """Returns whether the store answers and has no such file."""
    cause = error.__cause__
    code = getattr(cause, "response", {}).get("Error", {}).get("Code", "")
    return isinstance(cause, FileNotFoundError) or code in ("NoSuchKey", "404")


def _add_keys(archive: ArchiveWriter, settings: Settings) -> Iterator[str]:
    for name, path in key_files.places(settings).items():
        content = key_files.read(path)
        if content is not None:
            with archive.member(f"keys/{name}") as member:
                member.write(content)
            yield name
