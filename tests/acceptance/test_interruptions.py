"""Interruptions by an operator end no job: stops of its agent, and a service that is away for long.

The limits are those that users have; only the lease is shorter. The siblings at the level of the
service, which run always, are in tests/service/jobs/test_losses.py.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse_service.settings import Settings

from .jobs import PATIENCE

LEASE_SECONDS = 3.0
TIMES = Settings.model_fields["max_attempts"].default + 1

pytestmark = pytest.mark.verify


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    environment = {
        "IPULSE_RUNNER_MODULE": "ipulse_service.selftest.scripted_runner",
        "IPULSE_LEASE_SECONDS": str(LEASE_SECONDS),
        "IPULSE_HEARTBEAT_SECONDS": str(LEASE_SECONDS / 3),
    }
    with Stack(tmp_path / "home", environment=environment) as started:
        yield started


def spec(tmp_path: Path, steps: int, step_ms: int) -> dict[str, Any]:
    """A job that leaves a checkpoint after every fourth step, and when it is stopped."""
    metadata = {
        "steps": str(steps),
        "step_ms": str(step_ms),
        "execution_log": str(tmp_path / "log.jsonl"),
    }
    return {"version": 1, "network": {"layers": [{"neurons": 4}]}, "metadata": metadata}


def await_attempt(client: Connection, job_id: str, number: int) -> None:
    """Wait until an attempt runs; raise AssertionError if the job ends before."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        job = client.job(job_id).json
        if job["state"] == "running" and job["attempts"][-1]["number"] >= number:
            return
        assert job["state"] not in ("failed", "succeeded", "cancelled"), job
        time.sleep(0.05)
    raise AssertionError(f"attempt {number} of {job_id} did not begin: {job}")


def reasons(client: Connection, job_id: str) -> list[str]:
    return [attempt["reason"] for attempt in client.job(job_id).json["attempts"]]


def test_its_agent_is_stopped_again_and_again(stack: Stack, tmp_path: Path) -> None:
    with Connection(stack.url, token_file=stack.token_path) as client:
        job = client.submit(spec(tmp_path, steps=2 * TIMES, step_ms=300))
        for number in range(1, TIMES + 1):
            await_attempt(client, job.id, number)
            stack.restart_agent()
        ended = client.job(job.id).wait(timeout=PATIENCE, check=False)
        assert ended.succeeded, ended.json
        assert reasons(client, job.id) == [*["worker_stopped"] * TIMES, "completed"]


def test_the_service_is_away_for_longer_than_a_lease(stack: Stack, tmp_path: Path) -> None:
    with Connection(stack.url, token_file=stack.token_path) as client:
        job = client.submit(spec(tmp_path, steps=4, step_ms=1500))
        for number in range(1, TIMES + 1):
            await_attempt(client, job.id, number)
            kind = signal.SIGTERM if number % 2 else signal.SIGKILL
            os.kill(stack.processes["service"].pid, kind)
            time.sleep(LEASE_SECONDS + 2.0)
            stack.restart_service()
        ended = client.job(job.id).wait(timeout=PATIENCE, check=False)
        assert ended.succeeded, ended.json
        assert set(reasons(client, job.id)[:-1]) == {"worker_stopped"}
