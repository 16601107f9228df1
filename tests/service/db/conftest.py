"""The database with a clock that a test sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse_service.db import migrations
from ipulse_service.db.engine import Database
from ipulse_service.settings import Settings
from tests.service.db.clock_world import World


@pytest.fixture
def world(
    request: pytest.FixtureRequest, database_settings: dict[str, Any], tmp_path: Path
) -> Iterator[World]:
    if database_settings:
        url = request.getfixturevalue("postgresql_server").new_database()
    else:
        url = Settings(home=tmp_path).database_url
    world = World(url)
    yield world
    world.close()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/ipulse.db")
    migrations.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def database(
    database_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """A database of each kind, where a test finds no table `t`."""
    file = tmp_path_factory.mktemp("database") / "ipulse.db"
    database = Database(database_settings.get("database_url", f"sqlite:///{file}"))
    migrations.upgrade(database)
    with database.write() as transaction:
        transaction.connection.exec_driver_sql("DROP TABLE IF EXISTS t")
    yield database
    database.close()
