from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, insert, inspect, select, text

from ipulse_core.errors import Unavailable
from ipulse_service.db import migrations, postgresql
from ipulse_service.db.engine import Database
from ipulse_service.db.tables import job_ops, jobs, metadata, ops
from tests.service.conditions import eventually
from tests.service.postgresql_server import PostgreSQLServer

pytestmark = pytest.mark.postgresql

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def url(database_settings: dict[str, str], tmp_path: Path) -> str:
    """The URL of a database that is empty the first time."""
    return database_settings.get("database_url", f"sqlite:///{tmp_path}/ipulse.db")


def test_several_processes_may_start_at_once(url: str) -> None:
    program = (
        "from ipulse_service.db import migrations; from ipulse_service.db.engine import Database; "
        f"migrations.upgrade(Database({url!r}))"
    )
    command = [sys.executable, "-c", program]
    racing = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(3)]
    for process in racing:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()


def test_the_service_may_be_installed_in_a_folder_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "büro 100% [1]"
    shutil.copytree(Path(migrations.__file__).parent, installed)
    monkeypatch.setattr(migrations, "__file__", str(installed / "__init__.py"))
    database = Database(f"sqlite:///{tmp_path}/ipulse.db")
    with database.write() as transaction:
        migrations.migrate(transaction)
    assert database.is_writable()
    database.close()


def test_one_waits_for_as_long_as_another_takes(
    postgresql_server: PostgreSQLServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "_OPTIONS", "-c lock_timeout=50ms -c statement_timeout=30s")
    database = Database(postgresql_server.new_database())
    waits = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event = 'advisory' AND clock_timestamp() - query_start > interval '0.2 s'"
    )

    def has_waited_for_long() -> bool:
        with database.read() as transaction:
            return bool(transaction.connection.execute(waits).scalar_one())

    with ThreadPoolExecutor(1) as beside:
        with database.write() as transaction:
            transaction.lock("migration")
            waiting = beside.submit(migrations.upgrade, database)
            eventually(lambda: waiting.done() or has_waited_for_long())
        waiting.result()
    with database.read() as transaction:
        bounds = [
            transaction.connection.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in ("lock_timeout", "statement_timeout")
        ]
    assert bounds == ["50ms", "30s"]
    database.close()


def test_the_revisions_lead_to_the_tables_that_a_new_database_has(url: str) -> None:
    database = Database(url)
    _empty(database)
    with database.write() as transaction:
        migrations.migrate(transaction)
        assert compare_metadata(MigrationContext.configure(transaction.connection), metadata) == []
        migrated = _schema(transaction.connection)
    _empty(database)
    migrations.upgrade(database)
    with database.read() as transaction:
        assert _schema(transaction.connection) == migrated
    database.close()


@pytest.mark.parametrize(("revision", "statement"), [("", 20), ("0001", 5), ("0001", 20)])
def test_one_that_is_cut_short_is_begun_again(url: str, revision: str, statement: int) -> None:
    database = Database(url)
    _empty(database)
    if revision:
        with database.write() as transaction:
            migrations.migrate(transaction, to=revision)
    countdown = iter(range(statement, 0, -1))

    def stop(*_: Any) -> None:
        if next(countdown) == 1:
            raise KeyboardInterrupt

    engine = database.backend.writing
    event.listen(engine, "before_cursor_execute", stop)
    with pytest.raises(KeyboardInterrupt):
        migrations.upgrade(database)
    event.remove(engine, "before_cursor_execute", stop)
    migrations.upgrade(database)
    with database.read() as transaction:
        assert compare_metadata(MigrationContext.configure(transaction.connection), metadata) == []
    database.close()


def test_the_op_that_a_job_started_from_becomes_one_of_its_ops(url: str) -> None:
    database = Database(url)
    _empty(database)
    digest = "0f" * 32
    of_all = {
        **dict.fromkeys(("created_at", "updated_at", "state_since"), 1),
        **dict.fromkeys(("spec", "metadata", "phase_ms"), "{}"),
        **dict.fromkeys(("name", "spec_sha256"), ""),
        "state": "queued",
        "device": "cpu",
        "start_sha256": digest,
    }
    of_op = {"mode": "package", "artifact_id": f"op_{digest[:24]}", "sha256": digest, "size": 7}
    starts = [of_op, {**of_op, "artifact_id": "upl_1"}, {**of_op, "mode": "weights"}]
    rows = [
        {**of_all, "id": f"job_{number}", "start_from": json.dumps(start)}
        for number, start in enumerate(starts)
    ]
    op = {"name": "pool_op", "sha256": digest, "size": 7, "manifest": "{}", "created_at": 1}
    with database.write() as transaction:
        migrations.migrate(transaction, to="0034")
        transaction.connection.execute(insert(jobs), rows)
        transaction.connection.execute(insert(ops), op)
    migrations.upgrade(database)
    with database.read() as transaction:
        kept = select(jobs.c.id, jobs.c.start_sha256, jobs.c.requires).order_by(jobs.c.id)
        assert [tuple(row) for row in transaction.connection.execute(kept)] == [
            ("job_0", None, '{"software":["compiler","sandbox"]}'),
            ("job_1", digest, None),
            ("job_2", digest, None),
        ]
        used = select(jobs.c.id, job_ops.c.name, job_ops.c.sha256, job_ops.c.size).join(jobs)
        assert transaction.connection.execute(used).all() == [("job_0", "pool_op", digest, 7)]
    database.close()


def test_a_database_of_a_newer_version_is_left_as_it_is(url: str) -> None:
    database = Database(url)
    migrations.upgrade(database)
    revision = text("UPDATE alembic_version SET version_num = :number")
    with database.write() as transaction:
        transaction.connection.execute(revision, {"number": "9999"})
    with pytest.raises(Unavailable, match=r"revision 9999.*Start the newer version again"):
        migrations.upgrade(database)
    with database.write() as transaction:
        transaction.connection.execute(revision, {"number": migrations.newest()})
    database.close()


def test_the_newest_revision_is_the_one_with_the_highest_number() -> None:
    folder = Path(migrations.__file__).parent
    assert migrations.newest() == ScriptDirectory(str(folder)).get_current_head()


def test_a_revision_does_not_change_when_the_code_does() -> None:
    files = sorted((Path(migrations.__file__).parent / "versions").glob("[0-9]*_*.py"))
    assert len(files) == int(migrations.newest())
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            assert not isinstance(node, ast.ImportFrom) or not _is_ours(node.module), file.name
            names = node.names if isinstance(node, ast.Import) else []
            assert not any(_is_ours(alias.name) for alias in names), file.name


def _is_ours(module: str | None) -> bool:
    return module is None or module.startswith("ipulse")


def _empty(database: Database) -> None:
    """A server's database has had an example before."""
    with database.write() as transaction:
        metadata.drop_all(transaction.connection)
        transaction.connection.exec_driver_sql("DROP TABLE IF EXISTS alembic_version")


def _schema(connection: Connection) -> dict[str, Any]:
    """All that the database itself says of its tables; a column's place among others is nobody's
    business."""
    inspector = inspect(connection)
    return {
        table: {
            "columns": _by_name(inspector.get_columns(table)),
            "primary key": inspector.get_pk_constraint(table),
            "foreign keys": _by_name(inspector.get_foreign_keys(table)),
            "unique": _by_name(inspector.get_unique_constraints(table)),
            "indexes": _by_name(inspector.get_indexes(table)),
        }
        for table in inspector.get_table_names()
    }


def _by_name(facts: Sequence[Any]) -> dict[str, Any]:
    return {fact["name"]: {**fact, "type": str(fact.get("type"))} for fact in facts}
