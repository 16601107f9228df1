"""A service that is killed at any moment neither loses nor repeats a trial."""

from __future__ import annotations

import random
import secrets
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ipulse.stack.redis_server import RedisServer
from tests.service.agents import Attempt, phase
from tests.service.conditions import eventually
from tests.service.running import SPEC, Program, settings_for


def trials_of(service: Program, sweep_id: str) -> list[dict[str, Any]]:
    response = service.user.get(f"/v1/sweeps/{sweep_id}/trials")
    trials: list[dict[str, Any]] = response.json()["trials"]
    return trials


def work(service: Program) -> bool:
    """Does one queued job; whether there was one."""
    body = {"agent": "agent-1", "device_kinds": ["cpu"]}
    response = service.worker.post("/v1/worker/claims", json=body)
    if response.status_code != 200:
        return False
    attempt = Attempt(service.worker, response.json())
    attempt.report(*map(phase, ("prepare", "compile", "acquire", "run", "report")))
    attempt.put("manifest.json", "manifest")
    attempt.finish("completed", "", test_accuracy=0.5)
    return True


@pytest.mark.parametrize("seed", [secrets.randbelow(2**32)])  # its name prints it
@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.verify)])
def test_n17_no_trial_is_lost_or_repeated(
    redis_server: RedisServer, tmp_path: Path, kills: int, seed: int
) -> None:
    moments = random.Random(seed)
    rates = [number / 1000 for number in range(1, 10 * kills + 1)]
    parameters = {"/training/optimizer/learning_rate": {"values": rates}}
    config = {"sweep": "killed", "spec": SPEC, "parameters": parameters, "seeds": [1, 2]}
    settings = settings_for(tmp_path / "home", redis_server.url)
    with Program(settings) as service:
        sweep = service.user.post("/v1/sweeps", json={**config, "parallel": 5}).json()
        for _ in range(kills):
            for _ in range(moments.randrange(1, 8)):
                work(service)
            time.sleep(moments.uniform(0, 0.05))
            service.end(signal.SIGKILL)
            service.start()

        def is_over() -> bool:
            while work(service):
                pass
            return service.user.get(f"/v1/sweeps/{sweep['id']}").json()["state"] == "ended"

        eventually(is_over)
        trials = trials_of(service, sweep["id"])
        found = [trial["parameters"]["/training/optimizer/learning_rate"] for trial in trials]
        assert found == rates
        jobs = [job["id"] for trial in trials for job in trial["jobs"]]
        assert Counter(Counter(jobs).values()) == {1: 2 * len(rates)}
        listed = service.user.get("/v1/jobs", params={"page_size": 500}).json()["jobs"]
        assert {job["id"] for job in listed} == set(jobs), "no other job was submitted"
