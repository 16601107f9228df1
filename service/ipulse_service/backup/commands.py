"""The functions behind `ipulse backup`, `restore` and `migrate`; each returns its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ipulse_service.backup.archive_file import ArchiveReader, Manifest
from ipulse_service.backup.making import make, make_of_project
from ipulse_service.backup.moving import move
from ipulse_service.backup.restoring import restore as restore_archive
from ipulse_service.settings import Settings


def backup(
    environment: Mapping[str, str], path: Path, with_keys: bool, project: str = ""
) -> dict[str, Any]:
    """Makes a backup, or an archive of one project. Raises the errors of `make`."""
    settings, path = Settings.from_environment(environment), path.absolute()
    made = make_of_project(settings, path, project) if project else make(settings, path, with_keys)
    return {
        "path": str(made.path),
        "size": made.size,
        "jobs": made.jobs,
        "files": made.files,
        "keys": list(made.keys),
        "missing": list(made.missing),
    }


def check(path: Path) -> dict[str, Any]:
    """Checks an archive. Raises InvalidInput for a damaged one."""
    reader = ArchiveReader(path)
    reader.close()
    return {"path": str(path), **_about(reader.manifest)}


def restore(
    environment: Mapping[str, str],
    path: Path,
    with_keys: bool,
    may_replace: bool,
    project: str = "",
) -> dict[str, Any]:
    """Restores a backup, or adds a project. Raises the errors of `restoring.restore`."""
    settings = Settings.from_environment(environment)
    done = restore_archive(settings, path, with_keys, may_replace, project)
    return {
        "home": str(done.home),
        "database": done.database,
        "files": done.files,
        "keys": list(done.keys),
        "was_there": done.was_there,
        **_about(done.manifest),
        **({"project": done.added.name, "people": list(done.added.people)} if done.added else {}),
    }


def migrate(environment: Mapping[str, str], url: str) -> dict[str, Any]:
    """Moves a home to PostgreSQL. Raises the errors of `move`."""
    moved = move(Settings.from_environment(environment), url)
    return {
        "database": moved.database,
        "kept": str(moved.kept),
        "rows": moved.rows,
        "was_there": moved.was_there,
    }


def _about(manifest: Manifest) -> dict[str, Any]:
    return {
        "made_at": manifest.made_at,
        "version": manifest.version,
        "jobs": manifest.tables["jobs"].rows,
        "missing": list(manifest.missing),
        "project": manifest.project or None,
    }
