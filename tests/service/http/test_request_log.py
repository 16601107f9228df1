"""Callers without a token cannot fill the log; every request with a token is in it."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.stack.redis_server import RedisServer
from ipulse_service.http.log_context import RequestLines
from ipulse_service.http.server import request_log
from tests.service.conditions import eventually
from tests.service.running import InProcess, settings_for

FLOOD = 300


class Log:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        caplog.handler.setFormatter(RequestLines())
        caplog.set_level(logging.INFO)

    def lines(self, action: str) -> list[dict[str, Any]]:
        """The lines of an action so far."""
        lines = [json.loads(line) for line in self._caplog.text.splitlines()]
        return [line for line in lines if line["action"] == action]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Log:
    return Log(caplog)


@pytest.fixture
def service(
    home: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InProcess]:
    monkeypatch.setattr(request_log, "WINDOW_SECONDS", 2.0)
    monkeypatch.setattr(request_log, "WINDOW_LINES", 1)  # on a slow machine, too
    with InProcess(settings_for(home, redis_server.url)) as service:
        yield service


def test_requests_without_a_token_are_counted(service: InProcess, log: Log) -> None:
    with service.client() as stranger:
        for path in ("/v1/jobs", "/" + "x" * 3_000, "/"):
            for _ in range(FLOOD // 3):
                stranger.get(path)
    service.user.get("/v1/jobs", params={"page_size": 1})

    def counted() -> int:
        return sum(line["count"] for line in log.lines("requests_not_logged"))

    eventually(lambda: len(log.lines("request")) - 1 + counted() == FLOOD)
    assert counted() > 0
    assert all(len(line["path"]) <= request_log.MAX_PATH for line in log.lines("request"))
    kinds = {kind for line in log.lines("requests_not_logged") for kind in line["by_kind"]}
    assert kinds <= {"200", "401"}


def test_requests_with_a_token_are_all_logged(service: InProcess, log: Log) -> None:
    for _ in range(FLOOD // 3):
        service.user.get("/v1/jobs")
    eventually(lambda: len(log.lines("request")) >= FLOOD // 3)  # after the response
    assert len(log.lines("request")) == FLOOD // 3


def test_probes_are_logged_only_when_they_fail(service: InProcess, log: Log) -> None:
    def count() -> int:
        counted = sum(line["count"] for line in log.lines("requests_not_logged"))
        return len(log.lines("request")) + counted

    failures = 0
    while service.user.get("/readyz").status_code != 200:
        failures += 1
    assert service.user.get("/healthz").status_code == 200
    service.state.reaper.stop()
    assert service.user.get("/readyz").status_code == 503
    eventually(lambda: count() == failures + 1)
    assert service.user.get("/v1/jobs").status_code == 200
    eventually(lambda: count() == failures + 2)


def test_garbage_is_counted(service: InProcess, log: Log) -> None:
    lines = request_log.WarningLimit()
    logger = logging.getLogger("uvicorn.error")
    logger.addFilter(lines)
    try:
        port = int(service.url.rpartition(":")[2])
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"\x16\x03\x01 no request\r\n\r\n")
                connection.settimeout(30)
                while connection.recv(4096):
                    pass
        eventually(lambda: bool(log.lines("warnings_not_logged")))

        def counted() -> int:
            return sum(line["count"] for line in log.lines("warnings_not_logged"))

        eventually(lambda: len(log.lines("Invalid HTTP request received.")) + counted() == 50)
    finally:
        logger.removeFilter(lines)
