"""The file of SQLite shrinks after deletions, also that of an earlier version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select

from ipulse_service.background.housekeeping import Housekeeper
from ipulse_service.db import migrations, sqlite, tables
from ipulse_service.db.engine import Database
from ipulse_service.files.blobs import Blobs
from ipulse_service.settings import Settings

SPEC_BYTES = 500_000
JOBS = 40
KEPT = 3
JOB: dict[str, Any] = {
    "name": "large",
    "state": "succeeded",
    "device": "cpu",
    "spec": "x" * SPEC_BYTES,
    "spec_sha256": "0" * 64,
    "metadata": "{}",
    "phase_ms": "{}",
    "created_at": 1,
    "updated_at": 1,
    "state_since": 1,
    "finished_at": 1,
}


def fill(database: Database) -> None:
    """Adds large jobs and deletes all but the last ones."""
    with database.write() as transaction:
        rows = [{**JOB, "id": f"job_{number:024x}"} for number in range(JOBS)]
        transaction.connection.execute(insert(tables.jobs), rows)
    with database.write() as transaction:
        transaction.connection.execute(delete(tables.jobs).where(tables.jobs.c.pk <= JOBS - KEPT))


def check(database: Database, path: Path) -> None:
    with database.read() as transaction:
        specs = transaction.connection.execute(select(tables.jobs.c.spec)).scalars().all()
        assert specs == [JOB["spec"]] * KEPT
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def opened(settings: Settings) -> Database:
    database = Database(settings.database_url)
    migrations.upgrade(database)
    return database


def test_deleted_jobs_leave_no_space_behind(settings: Settings) -> None:
    path = settings.home / "ipulse.db"
    with closing(opened(settings)) as database:
        fill(database)
        database.backend.checkpoint()
        before = path.stat().st_size
        assert before > JOBS * SPEC_BYTES
        Housekeeper(database, Blobs(settings.artifacts_dir), settings).clean_up()
        most = KEPT * SPEC_BYTES + (sqlite.FREE_PAGES + 200) * 4096
        assert path.stat().st_size < most < before / 2
        check(database, path)
    with closing(opened(settings)) as database:
        check(database, path)


def of_an_earlier_version(settings: Settings) -> Path:
    path = settings.home / "ipulse.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (a)")  # the file gets its form with its first table
        connection.execute("DROP TABLE other")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "REBUILT_BYTES", 0)
        with closing(opened(settings)) as database:
            fill(database)
            database.backend.checkpoint()
            assert not database.free_pages()
    assert path.stat().st_size > JOBS * SPEC_BYTES
    return path


def test_a_file_of_an_earlier_version_is_rebuilt_once(settings: Settings) -> None:
    path = of_an_earlier_version(settings)
    with closing(opened(settings)) as database:
        assert path.stat().st_size < KEPT * SPEC_BYTES + 200 * 4096
        check(database, path)


def test_one_that_is_too_large_to_rebuild_is_used_as_it_is(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = of_an_earlier_version(settings)
    monkeypatch.setattr(sqlite, "REBUILT_BYTES", JOBS * SPEC_BYTES)
    with closing(opened(settings)) as database:
        assert path.stat().st_size > JOBS * SPEC_BYTES
        assert "database_cannot_shrink" in caplog.text
        check(database, path)
