from __future__ import annotations

import json
import logging
import sqlite3
from pathlib import Path

import pytest

from ipulse.stack.redis_server import RedisServer
from ipulse_service.http.log_context import RequestLines
from ipulse_service.jobs import submission
from tests.service.running import SPEC, InProcess, settings_for


@pytest.mark.parametrize("path", ["/v1/jobs", "/healthz", "/nowhere", "/openapi.json"])
def test_responses_forbid_sniffing_scripts_and_caching(service: InProcess, path: str) -> None:
    headers = service.user.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    policy = [part.strip() for part in headers["content-security-policy"].split(";")]
    assert {"default-src 'none'", "sandbox", "form-action 'none'"} <= set(policy)
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_a_request_keeps_its_id_if_it_has_a_decent_one(service: InProcess) -> None:
    mine = service.user.get("/v1/nowhere", headers={"x-request-id": "abc-1"})
    assert mine.headers["x-request-id"] == mine.json()["request_id"] == "abc-1"
    odd = service.user.get("/v1/nowhere", headers={"x-request-id": "a b\x22" * 50})
    assert odd.headers["x-request-id"] == odd.json()["request_id"] != ""
    assert len(odd.headers["x-request-id"]) == 16


def test_a_locked_database_is_refused_with_retry_after(
    redis_server: RedisServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ipulse_service.db.sqlite.BUSY_SECONDS", 0.05)
    with InProcess(settings_for(home, redis_server.url)) as service:
        other = sqlite3.connect(home / "ipulse.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refused = service.user.post("/v1/jobs", json=SPEC)
        assert refused.status_code == 503
        assert refused.json()["code"] == "unavailable"
        assert refused.headers["retry-after"] == "2"
        assert service.user.get("/v1/jobs").json()["jobs"] == []
        other.close()
        assert service.submit()["state"] == "queued"


class TestUnforeseenErrors:
    @pytest.fixture(autouse=True)
    def _broken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_value: object) -> None:
            raise ZeroDivisionError("the secret detail")

        monkeypatch.setattr(submission, "resolve", fail)

    def test_answers_with_an_id_and_no_traceback(self, service: InProcess) -> None:
        response = service.user.post("/v1/jobs", json=SPEC)
        assert response.status_code == 500
        assert response.headers["content-type"] == "application/problem+json"
        problem = response.json()
        assert problem["code"] == "internal_error"
        assert problem["request_id"] == response.headers["x-request-id"]
        assert "secret detail" not in response.text
        assert "Traceback" not in response.text

    def test_logs_the_traceback_under_that_id(
        self, service: InProcess, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.handler.setFormatter(RequestLines())
        with caplog.at_level(logging.INFO):
            response = service.user.post("/v1/jobs", json=SPEC)
        lines = [json.loads(line) for line in caplog.text.splitlines()]
        failed = next(line for line in lines if line["action"] == "request_failed")
        assert failed["request_id"] == response.headers["x-request-id"]
        assert "ZeroDivisionError: the secret detail" in failed["traceback"]
