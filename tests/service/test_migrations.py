from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from service import migrations
from service.database import Database
from service.tables import metadata

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def url(database_settings: dict[str, str], tmp_path: Path) -> str:
    """Of an empty database, the first time."""
    return database_settings.get("database_url", f"sqlite:///{tmp_path}/ipulse.db")


def test_several_processes_may_start_at_once(url: str) -> None:
    program = (
        "from service import migrations; from service.database import Database; "
        f"migrations.upgrade(Database({url!r}))"
    )
    command = [sys.executable, "-c", program]
    racing = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(3)]
    for process in racing:
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()


def test_the_revisions_lead_to_the_tables_that_the_code_uses(url: str) -> None:
    database = Database(url)
    migrations.upgrade(database)
    with database.write() as transaction:
        options = {"compare_type": True}
        context = MigrationContext.configure(transaction.connection, opts=options)
        assert compare_metadata(context, metadata) == []
    database.close()


def test_the_newest_revision_is_the_one_with_the_highest_number() -> None:
    folder = Path(migrations.__file__).parent
    assert migrations.newest() == ScriptDirectory(str(folder)).get_current_head()
