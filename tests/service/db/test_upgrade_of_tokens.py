"""Tokens of before there were people keep what they may do, but for those that agents shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from ipulse_service.db import migrations
from ipulse_service.db.engine import Database

pytestmark = pytest.mark.postgresql

COLUMNS = ("id", "name", "role", "sha256", "created_at", "expires_at", "agent", "submit_code")
TOKENS: list[tuple[Any, ...]] = [
    ("coder", "coder", "user", "", 1, 2, None, True),
    ("plain", "plain", "user", "", 1, 2, None, False),
    ("shared", "shared", "worker", "", 1, 2, None, False),
    ("joined", "agent lab", "worker", "", 1, 2, "lab", False),
]


def test_flags_become_roles_and_shared_tokens_end(
    database_settings: dict[str, str], tmp_path: Path
) -> None:
    url = database_settings.get("database_url", f"sqlite:///{tmp_path}/ipulse.db")
    database = Database(url)
    add = text(
        f"INSERT INTO tokens ({', '.join(COLUMNS)}) VALUES ({', '.join(':' + c for c in COLUMNS)})"  # noqa: S608  # names of this file
    )
    with database.write() as transaction:
        migrations.migrate(transaction, to="0045")
        for row in TOKENS:
            transaction.connection.execute(add, dict(zip(COLUMNS, row, strict=True)))
    migrations.upgrade(database)
    with database.read() as transaction:
        execute = transaction.connection.execute
        scopes = dict(map(tuple, execute(text("SELECT id, scopes FROM tokens"))))
        roles = dict(map(tuple, execute(text("SELECT principal, role FROM members"))))
    assert scopes["coder"] == "read submit code"
    assert scopes["plain"] == "read submit"
    assert scopes.keys() == {"coder", "plain", "joined"}
    assert roles == {"owner": "owner", "coder": "developer", "plain": "member"}
    database.close()
