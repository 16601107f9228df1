"""Fixtures of several route tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.stack.redis_server import RedisServer
from tests.service.http.routes.crowd import Crowd
from tests.service.running import InProcess, settings_for


@pytest.fixture
def alone(
    request: pytest.FixtureRequest,
    redis_server: RedisServer,
    tmp_path: Path,
    database_settings: dict[str, Any],
) -> Iterator[InProcess]:
    """An empty service on each database that checks its time limits often."""
    database = dict(database_settings)
    if database:
        database["database_url"] = request.getfixturevalue("postgresql_server").new_database()
    settings = settings_for(tmp_path / "alone", redis_server.url, retry_seconds=0.02, **database)
    with InProcess(settings) as running:
        yield running


@pytest.fixture(scope="module")
def crowd(service: InProcess) -> Crowd:
    """Five jobs of a group that no other test has."""
    return Crowd(service)
