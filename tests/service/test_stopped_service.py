"""No lease ends while a service is stopped, at any replica."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from ipulse.stack.redis_server import RedisServer

from .conditions import eventually
from .running import Program, settings_for
from .test_program import log_lines

STOPPED_SECONDS = 20.0

pytestmark = pytest.mark.verify


@pytest.fixture(params=["sqlite", "postgresql"])
def replicas(
    request: pytest.FixtureRequest, home: Path, redis_server: RedisServer, broker: redis.Redis
) -> Iterator[list[Program]]:
    """One service on SQLite, or two on one PostgreSQL."""
    settings = settings_for(home, redis_server.url)
    shared = {
        "IPULSE_ARTIFACTS_DIR": str(settings.artifacts_dir),
        "IPULSE_TOKEN_FILE": str(settings.token_file),
        "IPULSE_WORKER_TOKEN_FILE": str(settings.worker_token_file),
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
                    "worker_token_file": settings.worker_token_file,
                }
            )
            running.append(closing.enter_context(Program(own, **shared)))
        yield running


def test_a_service_that_was_stopped_ends_no_lease(replicas: list[Program]) -> None:
    """Nor does the other replica, to which its agents do not talk."""
    first = replicas[0]
    attempt = first.attempt(first.submit()["id"])
    assert first.process is not None
    first.process.send_signal(signal.SIGSTOP)
    time.sleep(STOPPED_SECONDS)
    first.process.send_signal(signal.SIGCONT)
    eventually(lambda: attempt.heartbeat().status_code == 200)
    job = first.job(attempt.claim["job_id"])
    assert (job["state"], job["attempt"]) == ("preparing", 1)
    for each in replicas:
        assert "lease_expired" not in [line["action"] for line in log_lines(each)]
