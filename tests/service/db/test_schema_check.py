"""Tables that do not fit the code are reported at the start, and published revisions stay."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from ipulse.stack.redis_server import RedisServer
from ipulse_core.errors import Unavailable
from ipulse_service.db import migrations
from ipulse_service.db.engine import Database
from ipulse_service.db.migrations import check_schema
from tests.service.postgresql_server import PostgreSQLServer
from tests.service.running import InProcess, settings_for

VERSIONS = Path(migrations.__file__).parent / "versions"
BEFORE = "0039"  # the revision before the one that repairs
FROZEN = Path(__file__).parent / "revisions.sha256"

# Tables as the first form of revision 0010 left them: a home of it has them at any later revision.
FIRST_FORM = (
    "CREATE TABLE agent_faults (agent VARCHAR(128) PRIMARY KEY, reason VARCHAR(64) NOT NULL,"
    " message TEXT NOT NULL, since BIGINT NOT NULL, seen_at BIGINT NOT NULL)",
    "ALTER TABLE agents DROP COLUMN fault_reason",
    "ALTER TABLE agents DROP COLUMN fault_message",
    "ALTER TABLE agents DROP COLUMN fault_since",
    "INSERT INTO agents (name, device_kinds, seen_at) VALUES ('full', '[]', 1), ('idle', '[]', 1)",
    "INSERT INTO agent_faults VALUES ('full', 'disk_full', 'no space', 7, 8)",
)

both = pytest.mark.parametrize("database_settings", ["sqlite", "postgresql"], indirect=True)


def test_published_revisions_are_not_edited() -> None:
    """A home that has a revision never runs it again: what it lacks is the work of a new one.

    A new revision is added with its landing: in `service/ipulse_service/db/migrations/versions`
    run `sha256sum 0NNN_name.py >> ../../../../../tests/service/db/revisions.sha256`.
    """
    frozen = dict(reversed(line.split()) for line in FROZEN.read_text().splitlines())
    present = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VERSIONS.glob("[0-9]*_*.py")
    }
    assert present == frozen


@pytest.fixture
def database_settings(request: pytest.FixtureRequest) -> dict[str, str]:
    """Settings of a database that no other test has, because each one damages it."""
    if request.param == "sqlite":
        return {}
    server: PostgreSQLServer = request.getfixturevalue("postgresql_server")
    return {"database_url": server.new_database()}


@pytest.fixture
def before(
    database_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """A database before the revision that repairs the first form of 0010."""
    file = tmp_path_factory.mktemp("database") / "ipulse.db"
    database = Database(database_settings.get("database_url", f"sqlite:///{file}"))
    with database.write() as transaction:
        migrations.migrate(transaction, to=BEFORE)
    yield database
    database.close()


def _run(database: Database, *statements: str) -> None:
    with database.write() as transaction:
        for statement in statements:
            transaction.connection.execute(text(statement))


def _faults(database: Database) -> list[Any]:
    query = "SELECT name, fault_reason, fault_message, fault_since FROM agents ORDER BY name"
    with database.read() as transaction:
        check_schema(transaction.connection)
        return [tuple(row) for row in transaction.connection.execute(text(query))]


@both
class TestTheFirstFormOfRevision10:
    """Both forms become the same tables, and faults of agents are kept."""

    def test_it_is_repaired(self, before: Database) -> None:
        _run(before, *FIRST_FORM)
        migrations.upgrade(before)
        full = ("full", "disk_full", "no space", 7)
        assert _faults(before) == [full, ("idle", None, None, None)]
        with pytest.raises(DBAPIError), before.read() as transaction:
            transaction.connection.execute(text("SELECT * FROM agent_faults"))

    def test_the_second_form_stays_as_it_is(self, before: Database) -> None:
        agent = "INSERT INTO agents (name, device_kinds, seen_at, fault_reason, fault_since)"
        _run(before, f"{agent} VALUES ('full', '[]', 1, 'disk_full', 7)")
        migrations.upgrade(before)
        assert _faults(before) == [("full", "disk_full", None, 7)]


@both
@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("ALTER TABLE agents DROP COLUMN fault_reason", r"agents.*fault_reason VARCHAR\(64\)"),
        ("DROP TABLE outbox", "outbox"),
        ("ALTER TABLE jobs ADD COLUMN later INTEGER NOT NULL DEFAULT 0", None),
        ("ALTER TABLE jobs ADD COLUMN later INTEGER", None),
    ],
)
def test_a_difference_is_fatal_and_named_if_it_matters(
    database: Database, statement: str, named: str | None
) -> None:
    _run(database, statement)
    if named is None:
        migrations.upgrade(database)
        return
    with pytest.raises(Unavailable) as raised:
        migrations.upgrade(database)
    assert re.search(named, raised.value.message)
    assert "\n" not in raised.value.message


@both
def test_a_revision_that_does_not_fit_changes_nothing_and_is_one_sentence(
    database: Database,
) -> None:
    """Revisions were numbered again between some commits: a home of these has other tables."""
    _run(database, "UPDATE alembic_version SET version_num = '0035'")
    with pytest.raises(Unavailable, match="revision 0035") as raised:
        migrations.upgrade(database)
    assert "capabilities" in raised.value.message
    with database.read() as transaction:
        check_schema(transaction.connection)
        kept = transaction.connection.execute(text("SELECT version_num FROM alembic_version"))
        assert kept.scalar_one() == "0035"


@both
def test_a_wrong_statement_is_an_internal_error_and_no_passing_trouble(
    tmp_path: Path, redis_server: RedisServer, database_settings: dict[str, Any]
) -> None:
    """A 503 would make clients repeat for ever what cannot succeed."""
    settings = settings_for(tmp_path / "home", redis_server.url, **database_settings)
    with InProcess(settings) as service:
        _run(service.database, "ALTER TABLE agents RENAME COLUMN fault_reason TO reason")
        try:
            response = service.user.get("/v1/agents")
            assert (response.status_code, response.json()["code"]) == (500, "internal_error")
        finally:
            _run(service.database, "ALTER TABLE agents RENAME COLUMN reason TO fault_reason")
