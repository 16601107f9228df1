"""The database with a clock that a test sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
