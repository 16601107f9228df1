"""Failures of the database have a hint for clients, and a cause in the log."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import DBAPIError

from ipulse_core.errors import Unavailable
from ipulse_service.db.engine import Database
from ipulse_service.db.tables import outbox
from ipulse_service.selftest import postgresql

pytestmark = pytest.mark.postgresql

BREAKS = {
    "sqlite": "DELETE FROM jobs WHERE id = :x",  # from a connection that may only read
    "postgresql": "SELECT pg_terminate_backend(pg_backend_pid()), CAST(:x AS text)",
}


def test_a_client_gets_a_hint_and_the_log_the_cause(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """A driver's words hold statements, and those of PostgreSQL process ids."""
    kind = database.url.get_backend_name()
    if kind == "sqlite":
        with database.read() as transaction:
            transaction.connection.exec_driver_sql("PRAGMA query_only = 1")
    statement = text(BREAKS[kind])
    with pytest.raises(Unavailable) as raised, database.read() as transaction:
        transaction.connection.execute(statement, {"x": "secret"})
    cause = raised.value.__cause__
    assert isinstance(cause, DBAPIError)
    why = str(cause.orig).strip()
    assert "try again in a few seconds" in str(raised.value)
    assert why not in str(raised.value)
    [record] = caplog.records
    assert record.error == why  # type: ignore[attr-defined]  # given as an extra
    assert "secret" not in f"{why}{cause}"


def test_a_standby_that_is_not_promoted_yet_is_a_passing_failure() -> None:
    # Short, because a socket's path is, and open to the account of the servers.
    with tempfile.TemporaryDirectory(prefix="ipulse-standby-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        programs = postgresql.programs()
        primary = postgresql.PostgreSQLServer(programs, folder / "primary")
        standby = postgresql.PostgreSQLServer(programs, folder / "standby")
        database = Database(f"postgresql://{postgresql.USER}@/postgres?host={standby.sockets}")
        try:
            primary.make()
            standby.copy(primary)
            with database.read() as transaction:
                transaction.connection.execute(text("SELECT 1"))
            with pytest.raises(Unavailable, match="try again"), database.write() as transaction:
                transaction.connection.execute(text("SELECT 1"))
            standby.promote()
            with database.write() as transaction:
                transaction.connection.execute(text("CREATE TABLE written (id int)"))
        finally:
            database.close()
            standby.stop()
            primary.stop()


def test_another_process_that_keeps_the_file_locked_is_reported_as_unavailable(
    sqlite: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ipulse_service.db.sqlite.BUSY_SECONDS", 0.05)
    impatient = Database(f"sqlite:///{tmp_path}/ipulse.db")
    other = sqlite3.connect(tmp_path / "ipulse.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(Unavailable, match="try again in a few seconds"), impatient.write():
            pass
        with impatient.read() as transaction:
            assert transaction.connection.execute(select(outbox)).all() == []
    finally:
        other.close()
        impatient.close()


def test_more_readers_than_connections_are_asked_to_retry(
    sqlite: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = create_engine(sqlite.url, pool_size=1, max_overflow=0, pool_timeout=0.05)
    monkeypatch.setattr(sqlite.backend, "reading", few)
    with sqlite.read(), pytest.raises(Unavailable, match="busy"), sqlite.read():
        pass
    few.dispose()


@pytest.mark.parametrize(
    "url", ["mysql://user:secret@host/db", "postgresql://user:secret@host", "sqlite://"]
)
def test_another_database_is_refused_without_telling_its_password(url: str) -> None:
    with pytest.raises(Unavailable, match="IPULSE_DATABASE_URL") as raised:
        Database(url)
    assert "secret" not in str(raised.value)


def test_the_log_names_the_database_that_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "ipulse.db"
    path.write_bytes(b"no database, but long enough to be one" * 1_000)
    database = Database(f"sqlite:///{path}")
    with pytest.raises(Unavailable) as raised, database.migrating():
        pass
    database.close()
    assert any(str(path) in vars(record).get("database", "") for record in caplog.records)
    assert str(path) not in raised.value.message
