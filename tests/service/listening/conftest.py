"""One service, or two replicas, as programs of which a test can block the event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from ipulse.stack.redis_server import RedisServer
from tests.service.running import Program, settings_for


class Blockable(Program):
    """The service with a route that blocks its event loop."""

    module = "tests.service.listening.blocking_program"


@pytest.fixture(params=["sqlite", "postgresql"])
def replicas(
    request: pytest.FixtureRequest, home: Path, redis_server: RedisServer, broker: redis.Redis
) -> Iterator[list[Blockable]]:
    """One service on SQLite, or two on one PostgreSQL."""
    settings = settings_for(home, redis_server.url)
    shared = {
        "IPULSE_ARTIFACTS_DIR": str(settings.artifacts_dir),
        "IPULSE_TOKEN_FILE": str(settings.token_file),
        "IPULSE_AGENT_KEY_FILE": str(settings.agent_key_file),
    }
    homes = [home]
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql_server")
        shared["IPULSE_DATABASE_URL"] = server.new_database()
        homes.append(home.with_name("other"))
    with ExitStack() as closing:
        running = []
        for each in homes:
            own = settings_for(each, redis_server.url).model_copy(
                update={
                    "token_file": settings.token_file,
                    "agent_key_file": settings.agent_key_file,
                }
            )
            running.append(closing.enter_context(Blockable(own, **shared)))
        yield running
