from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from service import migrations
from service.database import Database
from service.tables import metadata

ROOT = Path(__file__).resolve().parents[2]


def test_the_revisions_lead_to_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/ipulse.db")
    migrations.upgrade(database)
    with database.write() as transaction:
        options = {"compare_type": True}
        context = MigrationContext.configure(transaction.connection, opts=options)
        assert compare_metadata(context, metadata) == []
    database.close()


def test_the_newest_revision_is_the_one_with_the_highest_number() -> None:
    folder = Path(migrations.__file__).parent
    assert migrations.newest() == ScriptDirectory(str(folder)).get_current_head()


def test_several_processes_may_start_at_once(tmp_path: Path) -> None:
    program = (
        "from service import migrations; from service.database import Database; "
        f"migrations.upgrade(Database('sqlite:///{tmp_path}/ipulse.db'))"
    )
    command = [sys.executable, "-c", program]
    racing = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(3)]
    for process in racing:
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()
