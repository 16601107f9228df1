"""Three of ten answers to an agent are lost: no attempt is lost, and nothing is done twice."""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from ipulse_worker.agent import retry_policy
from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.settings import AgentSettings
from tests.service.running import SPEC, InProcess

SHARE = 0.3


class LosesAnswers(httpx.BaseTransport):
    """Sends every request, and loses some of the answers."""

    def __init__(self, transport: httpx.BaseTransport, seed: int) -> None:
        self._transport = transport
        self._random = Random(seed)
        self._lock = threading.Lock()
        self.lost: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._transport.handle_request(request)
        with self._lock:
            is_lost = self._random.random() < SHARE
        if is_lost:
            response.read()
            response.close()
            self.lost.append(request.url.path)
            raise httpx.ReadError("the answer is lost", request=request)
        return response

    def close(self) -> None:
        self._transport.close()


@pytest.mark.parametrize(
    "count", [pytest.param(3), pytest.param(30, marks=pytest.mark.verify)], ids=["few", "many"]
)
def test_no_attempt_is_lost(
    service: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(retry_policy, "FIRST_PAUSE", 0.01)
    settings = AgentSettings(
        service_url=service.url,
        name="agent-1",
        worker_token=service.agent_token("agent-1"),
        broker_url="",
        work_dir=tmp_path / "work",
        runner_module="tests.worker.agent.runners.scripted",
        warm=False,
    )
    spec: dict[str, Any] = {**SPEC, "metadata": {"behaviour": "completes"}}
    agent = Agent(settings)
    connections = agent._api._connections
    unreliable = LosesAnswers(connections._http._transport, seed=count)
    monkeypatch.setattr(connections._http, "_transport", unreliable)
    agent.start()
    try:
        jobs = [service.submit(spec)["id"] for _ in range(count)]
        for job_id in jobs:
            while service.job(job_id)["state"] == "queued":
                agent.run_job(job_id)
    finally:
        agent.close()
    for job_id in jobs:
        job = service.job(job_id)
        assert job["state"] == "succeeded", job
        assert [attempt["reason"] for attempt in job["attempts"]] == ["completed"]
    assert unreliable.lost
    for route in ("claims", "events", "finish", "artifacts") if count > 3 else ():
        assert any(route in path for path in unreliable.lost), route
