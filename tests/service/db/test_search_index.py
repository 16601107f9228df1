"""The migration fills the index of settings and metrics as the service keeps it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, text

from ipulse_service.db import migrations
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import index_names, job_metrics, job_settings
from tests.service.http.routes.crowd import Crowd
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql


def index(transaction: Transaction) -> set[tuple[Any, ...]]:
    """All rows of the index, with names instead of their ids."""
    rows: set[tuple[Any, ...]] = set()
    for table in (job_settings, job_metrics):
        columns = [column for column in table.columns if column.name != "name_id"]
        query = select(index_names.c.kind, index_names.c.name, *columns).join(table)
        rows |= {tuple(row) for row in transaction.connection.execute(query)}
    return rows


def test_an_upgrade_fills_the_index(service: InProcess) -> None:
    Crowd(service)
    with service.database.write() as transaction:
        before = index(transaction)
        for table in ("job_settings", "job_metrics", "index_names"):
            transaction.connection.execute(text(f"DROP TABLE {table}"))
        transaction.connection.execute(text("UPDATE alembic_version SET version_num = '0016'"))
        migrations.migrate(transaction, "0017")
        assert len(before) > 300
        assert index(transaction) == before
