"""Homes of earlier versions, which `make_homes` stored as archives."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import tarfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ipulse_service.selftest.postgresql import programs
from tests.service.postgresql_server import PostgreSQLServer

ARCHIVES = sorted((Path(__file__).parent / "homes").glob("*.tar.xz"))

# An idempotency key is valid for a day; an archive is older.
_KEYS_OF_TODAY = "UPDATE {schema}.idempotency_keys SET created_at = {now}"


@dataclass(frozen=True)
class StoredHome:
    """A home that was taken from an archive.

    Attributes:
        folder: The home.
        settings: Settings of its database, unless that is in the home.
        jobs: What the archive says of each job: `id`, `state`, `key` and `spec` as it was sent.
    """

    folder: Path
    settings: dict[str, Any]
    jobs: list[dict[str, Any]]

    def job(self, state: str) -> dict[str, Any]:
        """Returns the job that is stored in a state."""
        return next(job for job in self.jobs if job["state"] == state)


def take(archive: Path, folder: Path, server: PostgreSQLServer) -> StoredHome:
    """Extracts a home into a new folder, and its database into one of the server."""
    folder.mkdir(mode=0o700)
    with tarfile.open(archive) as content:
        content.extractall(folder)  # noqa: S202 - our own archive; Python 3.11.2 has no filters
    jobs = json.loads((folder / "known.json").read_text())["jobs"]
    now = round(time.time() * 1000)
    if (folder / "ipulse.db").exists():
        with closing(sqlite3.connect(folder / "ipulse.db")) as database, database:
            database.execute(_KEYS_OF_TODAY.format(schema="main", now=now))
        return StoredHome(folder, {}, jobs)
    url = server.new_database()
    keys = _KEYS_OF_TODAY.format(schema="public", now=now)  # the dump has reset the search path
    psql = [programs() / "psql", "--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={url}"]
    done = subprocess.run(
        [*psql, f"--file={folder / 'ipulse.sql'}", f"--command={keys}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return StoredHome(folder, {"database_url": url}, jobs)
