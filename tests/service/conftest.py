"""A real Redis for the session, and a service for each module that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from ipulse.errors import MissingDependency
from ipulse.program_log import ProgramLog
from ipulse.redis_server import RedisServer, find_redis_server

from .running import InProcess, settings_for


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    try:
        program = find_redis_server()
    except MissingDependency as error:
        pytest.skip(str(error))
    directory = tmp_path_factory.mktemp("redis", numbered=True)
    directory.chmod(0o700)
    server = RedisServer(directory, ProgramLog(directory / "redis.log"), program)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def broker(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """The session's Redis, emptied."""
    with redis.Redis(unix_socket_path=str(redis_server.socket)) as client:
        client.flushall()
        yield client


@pytest.fixture(scope="module")
def service(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InProcess]:
    """One service for all tests of a module; each submits jobs of its own."""
    settings = settings_for(tmp_path_factory.mktemp("home"), redis_server.url)
    with InProcess(settings) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
