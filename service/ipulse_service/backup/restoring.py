"""Restores a backup: it is checked first, and the database changes last and at once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ipulse.stack.home import Home
from ipulse_core.errors import InvalidInput, Problem, Unavailable
from ipulse_service.backup import key_files, projects, target
from ipulse_service.backup.archive_file import ArchiveReader, Manifest
from ipulse_service.backup.key_files import StagedKey
from ipulse_service.backup.making import is_absence, opened_database, refuse_other_schema
from ipulse_service.backup.projects import Added
from ipulse_service.backup.rows import ArchivedRows
from ipulse_service.db import migrations
from ipulse_service.db.failures import DatabaseFailed
from ipulse_service.files import stored
from ipulse_service.files.blobs import digest_path
from ipulse_service.files.checksums import BLOCK_BYTES, Checksums
from ipulse_service.files.partial_upload import StoreTrouble, translate_os_errors
from ipulse_service.files.stored import Store
from ipulse_service.settings import Settings

SPARE_BYTES = 16 * 2**20  # stay free on a disk
ROWS_FACTOR = 3  # of a database with its indexes and its log, over the text of its rows


@dataclass(frozen=True)
class Restored:
    """The rows and files that were restored."""

    manifest: Manifest
    home: Path
    database: str  # URL without its password
    files: int  # that the store lacked
    keys: tuple[str, ...]  # that were replaced
    was_there: bool  # the database had these rows already
    added: Added | None = None  # the only project that was restored; None: everything


def restore(
    settings: Settings,
    path: Path,
    with_keys: bool = True,
    may_replace: bool = False,
    project: str = "",
) -> Restored:
    """Restores a backup into a home, its database and its store of files.

    The archive of one project is added to what is there; `project` is another name for it.

    Nothing is written before the whole archive was checked. Files are added first, which harms
    nothing; the keys lie ready before the database changes. If this is cut short anywhere, the
    same call completes it.

    Raises:
        InvalidInput: The archive is damaged or is none.
        Conflict: The home is in use, or has content and `may_replace` is False.
        Unavailable: A disk is full, or the database or the store fails.
    """
    reader = ArchiveReader(path)
    source = ArchivedRows(reader)
    try:
        with (
            Home(settings.home).held(),
            explained(),
            target.target_at(settings.database_url) as database,
        ):
            database.refuse_users()
            if reader.manifest.project or project:
                return _add_project(settings, reader, may_replace, project)
            content = database.examine(source)
            if not may_replace:
                target.refuse_loss(database, content)
            store = stored.open_store(settings)
            _check_room(settings, reader)
            with _staged_keys(settings, reader if with_keys else None) as staged:
                added = _add_files(store, reader)
                if content is not target.Content.SAME:
                    database.fill(source)
                for key in staged:
                    key.put()
            name = database.name
    finally:
        reader.close()
    return Restored(
        manifest=reader.manifest,
        home=settings.home,
        database=name,
        files=added,
        keys=tuple(key.path.name for key in staged),
        was_there=content is target.Content.SAME,
    )


def _add_project(
    settings: Settings, reader: ArchiveReader, may_replace: bool, name: str
) -> Restored:
    manifest = reader.manifest
    if may_replace or not manifest.project:
        detail = (
            "a project is added, and replaces nothing: leave --replace out"
            if manifest.project
            else "this is a backup of everything: leave --project out, or make an archive of one "
            "project with `ipulse backup FILE --project NAME`"
        )
        raise InvalidInput([Problem("/project", "inconsistent", detail)], detail)
    with opened_database(settings) as database:
        with database.read() as transaction:
            refuse_other_schema(transaction)
        if manifest.revision != migrations.newest():
            raise Unavailable(
                f"the archive has revision {manifest.revision}, and this version works with "
                f"{migrations.newest()}: make it again with a service of this version"
            )
        _check_room(settings, reader)
        files = _add_files(stored.open_store(settings), reader)
        with database.write() as transaction:
            added = projects.add(transaction, reader, name)
        shown = database.url.render_as_string(hide_password=True)
    return Restored(manifest, settings.home, shown, files, (), was_there=False, added=added)


@contextmanager
def explained() -> Iterator[None]:
    """Raises errors of the database with the sentence for its operator."""
    try:
        yield
    except DatabaseFailed as error:
        raise Unavailable(
            f"{error.problem}. The database is as it was; the same command completes the work"
        ) from error


def _check_room(settings: Settings, reader: ArchiveReader) -> None:
    """Raises Unavailable, with the figures, if a disk has no room for what is restored."""
    needed: dict[Path, int] = {}
    if not settings.s3_bucket:
        needed[settings.artifacts_dir] = sum(
            reader.size(f"files/{digest}")
            for digest in reader.digests
            if not (settings.artifacts_dir / "sha256" / digest_path(digest)).exists()
        )
    if settings.database_url.startswith("sqlite"):
        rows = sum(reader.size(f"tables/{name}.jsonl") for name in reader.manifest.tables)
        needed[settings.home] = ROWS_FACTOR * rows
    by_disk: dict[int, tuple[Path, int]] = {}
    for path, size in needed.items():
        while not path.exists():
            path = path.parent
        device = path.stat().st_dev
        by_disk[device] = (path, size + by_disk.get(device, (path, SPARE_BYTES))[1])
    for path, size in by_disk.values():
        free = shutil.disk_usage(path).free
        if free < size:
            raise Unavailable(
                f"the disk of {path} has {free / 1e6:,.0f} MB free, and this backup needs "
                f"{size / 1e6:,.0f} MB: free space, or choose another home. Nothing was changed"
            )


@contextmanager
def _staged_keys(settings: Settings, reader: ArchiveReader | None) -> Iterator[list[StagedKey]]:
    """Writes the keys of a backup next to their places; drafts that are left over are removed."""
    staged: list[StagedKey] = []
    try:
        if reader is not None:
            places = key_files.places(settings)
            for name in reader.manifest.keys:
                key = key_files.stage(places[name], b"".join(reader.chunks(f"keys/{name}")))
                staged += [] if key is None else [key]
        yield staged
    finally:
        for key in staged:
            key.drop()


def _add_files(store: Store, reader: ArchiveReader) -> int:
    """Adds the files that the store lacks or has damaged; returns how many."""
    store.prepare()
    added = 0
    for sha256 in reader.digests:
        if _has(store, sha256):
            continue
        upload = store.receive()
        try:
            for chunk in reader.chunks(f"files/{sha256}"):
                upload.write(chunk)
            upload.sync()
            store.keep(upload)
        finally:
            upload.close()
        added += 1
    return added


def _has(store: Store, sha256: str) -> bool:
    """Returns whether the store has a file undamaged."""
    try:
        file = store.open(sha256)
    except StoreTrouble as error:
        if is_absence(error):
            return False
        raise
    checksums = Checksums()
    with file, translate_os_errors():
        while chunk := file.read(BLOCK_BYTES):
            checksums.update(chunk)
    return checksums.sha256 == sha256
