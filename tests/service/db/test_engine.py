from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import insert, inspect, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import QueuePool

from ipulse_core.errors import Unavailable
from ipulse_service.db.engine import Database, rfc3339
from ipulse_service.db.tables import outbox

pytestmark = pytest.mark.postgresql

MISSING_JOB = 1


def pragma(database: Database, name: str) -> object:
    with database.read() as transaction:
        return transaction.connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()


@pytest.mark.parametrize(
    ("name", "value"), [("journal_mode", "wal"), ("synchronous", 1), ("foreign_keys", 1)]
)
def test_what_is_committed_is_sound(sqlite: Database, name: str, value: object) -> None:
    assert pragma(sqlite, name) == value


def test_all_connections_together_hold_little_of_the_file_in_memory(sqlite: Database) -> None:
    kibibytes = -int(str(pragma(sqlite, "cache_size")))
    pool = sqlite.backend.reading.pool
    assert isinstance(pool, QueuePool)
    assert 0 < kibibytes * pool.size() <= 32 * 1024


def test_what_is_committed_survives_a_power_cut(
    sqlite: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is synced after the commit and before it is announced."""
    log = Path(f"{sqlite.url.database}-wal")
    synced: list[tuple[str, int]] = []
    fdatasync = os.fdatasync

    def note(descriptor: int) -> None:
        fdatasync(descriptor)
        synced.append((os.readlink(f"/proc/self/fd/{descriptor}"), os.fstat(descriptor).st_size))

    monkeypatch.setattr(os, "fdatasync", note)
    notified: list[list[tuple[str, int]]] = []
    sqlite.listeners.append(lambda _: notified.append(list(synced)))
    with sqlite.write() as transaction:
        transaction.connection.exec_driver_sql("CREATE TABLE t (x INTEGER)")
        transaction.topics.add("t")
        assert synced == []
    assert synced == [(str(log), log.stat().st_size)]
    assert notified == [synced]


def test_a_disk_that_does_not_sync_is_no_commit(
    sqlite: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    def write() -> None:
        with sqlite.write() as transaction:
            transaction.connection.exec_driver_sql("CREATE TABLE t (x INTEGER)")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(Unavailable, match="disk fails: Input/output error"):
        write()


def test_an_error_undoes_the_whole_transaction_and_notifies_no_listener(database: Database) -> None:
    notified_topics: list[frozenset[str]] = []
    database.listeners.append(notified_topics.append)

    def write_and_fail() -> None:
        with database.write() as transaction:
            transaction.connection.exec_driver_sql("CREATE TABLE t (x INTEGER)")
            transaction.topics.add("t")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    with database.read() as transaction:
        assert not inspect(transaction.connection).has_table("t")
    assert notified_topics == []


def test_a_row_must_refer_to_a_job_that_exists(database: Database) -> None:
    with pytest.raises(IntegrityError), database.write() as transaction:
        transaction.connection.execute(insert(outbox).values(job_pk=MISSING_JOB))


def test_topics_are_reported_once_the_commit_is_visible(database: Database) -> None:
    seen: list[int] = []

    def look(topics: frozenset[str]) -> None:
        assert topics == {"t"}
        with database.read() as transaction:
            seen.append(transaction.connection.exec_driver_sql("SELECT x FROM t").scalar_one())

    database.listeners.append(look)
    with database.write() as transaction:
        transaction.connection.exec_driver_sql("CREATE TABLE t (x INTEGER)")
        transaction.connection.exec_driver_sql("INSERT INTO t VALUES (7)")
        transaction.topics.add("t")
    assert seen == [7]


def test_writers_take_turns_and_none_is_lost(database: Database) -> None:
    with database.write() as transaction:
        transaction.connection.exec_driver_sql("CREATE TABLE t (x INTEGER)")
        transaction.connection.exec_driver_sql("INSERT INTO t VALUES (0)")

    def count_up() -> None:
        for _ in range(25):
            with database.write() as transaction:
                transaction.lock("t")
                x = transaction.connection.exec_driver_sql("SELECT x FROM t").scalar_one()
                transaction.connection.execute(text("UPDATE t SET x = :x"), {"x": x + 1})

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as transaction:
        assert transaction.connection.exec_driver_sql("SELECT x FROM t").scalar_one() == 100


def test_a_reader_keeps_its_view_while_others_write(database: Database) -> None:
    with database.write() as transaction:
        transaction.connection.exec_driver_sql("CREATE TABLE t (x INTEGER)")
    with database.read() as reader:
        count = "SELECT COUNT(*) FROM t"
        assert reader.connection.exec_driver_sql(count).scalar_one() == 0
        with database.write() as writer:
            writer.connection.exec_driver_sql("INSERT INTO t VALUES (1)")
        assert reader.connection.exec_driver_sql(count).scalar_one() == 0


def test_the_clock_is_that_of_the_database_in_milliseconds(database: Database) -> None:
    before = time.time()
    with database.read() as transaction:
        now = transaction.now
        assert transaction.now == now
    assert before * 1000 - 1 <= now <= time.time() * 1000 + 1


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000Z"),
        (1_769_860_800_007, "2026-01-31T12:00:00.007Z"),
    ],
)
def test_times_are_reported_in_utc_to_the_millisecond(
    milliseconds: int | None, text: str | None
) -> None:
    assert rfc3339(milliseconds) == text
