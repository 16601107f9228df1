"""The service waits for its PostgreSQL at the start, and answers probes meanwhile."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx

from ipulse.stack.redis_server import RedisServer

from .conditions import eventually
from .postgresql_server import PostgreSQLServer
from .running import SPEC, Program, settings_for
from .test_program import log_lines


class Waiting(Program):
    """A service that begins to wait, where others become ready."""

    def wait_until_ready(self) -> None:
        self.readiness = self.user.get("/readyz")


def test_it_starts_as_soon_as_postgresql_does(
    home: Path, redis_server: RedisServer, postgresql_server: PostgreSQLServer
) -> None:
    url = postgresql_server.new_database()
    postgresql_server.stop()
    is_away = True
    program = Waiting(settings_for(home, redis_server.url), IPULSE_DATABASE_URL=url)
    try:
        with program:
            assert program.readiness.status_code == 503
            assert "the database does not answer" in program.readiness.json()["detail"]
            with httpx.Client(base_url=program.url) as anybody:
                assert anybody.get("/healthz").status_code == 200
            refused = program.user.post("/v1/jobs", json=SPEC)
            assert refused.status_code == 503
            assert refused.json()["code"] == "starting"
            assert refused.headers["retry-after"]
            (line,) = lines(program, "start_waits")
            assert line["for"] == "database"
            postgresql_server.start()
            is_away = False
            eventually(lambda: program.user.get("/readyz").status_code == 200)
            assert program.job(program.submit()["id"])["state"] == "queued"
    finally:
        if is_away:
            postgresql_server.start()


def test_it_can_be_stopped_while_it_waits(home: Path, redis_server: RedisServer) -> None:
    url = "postgresql://nobody@127.0.0.1:1/ipulse"
    with Waiting(settings_for(home, redis_server.url), IPULSE_DATABASE_URL=url) as program:
        assert program.end(signal.SIGTERM) == 0


def lines(program: Program, action: str) -> list[dict[str, Any]]:
    return [line for line in log_lines(program) if line["action"] == action]
