"""Fixtures of several route tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ipulse.stack.redis_server import RedisServer
from tests.service.agents import METRIC, line
from tests.service.http.routes.crowd import Crowd
from tests.service.http.routes.joined_agent import JoinedAgent
from tests.service.pushed_ops import coding
from tests.service.running import InProcess, settings_for


@pytest.fixture
def coder(service: InProcess) -> Iterator[httpx.Client]:
    """A client with a token that may submit code."""
    with coding(service) as client:
        yield client


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


@pytest.fixture
def no_other_agents(service: InProcess) -> Iterator[None]:
    """Remove the agents of other tests, which may have more."""
    service.wait_until_ready()
    yield
    for agent in service.user.get("/v1/agents").json()["agents"]:
        service.worker.post("/v1/worker/sign-off", json={"agent": agent["name"]})
        assert service.user.delete(f"/v1/agents/{agent['name']}").status_code == 204


@pytest.fixture(scope="module")
def crowd(service: InProcess) -> Crowd:
    """Five jobs of a group that no other test has."""
    return Crowd(service)


@pytest.fixture(scope="module")
def finished(service: InProcess) -> str:
    """A job with a little of everything, complete."""
    attempt = service.attempt(service.submit()["id"])
    for number in range(20):
        attempt.report(line(f"line {number}"), METRIC)
    attempt.complete()
    job_id: str = attempt.claim["job_id"]
    return job_id


@pytest.fixture
def agent(service: InProcess) -> Iterator[JoinedAgent]:
    """It is the only one with emulated IPUs, so that no job of another test is in its way."""
    made = JoinedAgent(service, "emulator", "cpu", labels={"site": "b"})
    yield made
    made.sign_off()
    made.http.close()
