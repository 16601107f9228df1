"""Two agents with the real runner, one of them with its work directory on a disk of 1 MiB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Client
from ipulse.stack.stack import Stack
from tests.worker.disks import small_disk

SPEC: dict[str, Any] = {
    "version": 1,
    "data": {"kind": "digits", "samples": 50, "steps": 5},
    "network": {"layers": [{"neurons": 512}, {"neurons": 512}]},  # weights of 1.2 MB
    "training": {"epochs": 1, "batch_size": 50},
    "device": {"kind": "cpu", "threads": 1},
}
JOBS = 8
SECONDS = 600.0


@pytest.mark.verify
def test_every_job_succeeds_on_the_agent_that_has_room(
    stack: Stack, client: Client, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "small", "size=1m,mode=0700") as disk:
        variables = {"IPULSE_WORK_DIR": str(disk), "IPULSE_LEAST_FREE_BYTES": "1"}
        with stack.more_agent("small", variables):
            jobs = [client.submit({**SPEC, "seed": seed}) for seed in range(JOBS)]
            ended = [client.wait(job.id, SECONDS) for job in jobs]
            faults = [agent.fault for agent in client.agents() if agent.fault]
    assert {job.state.value for job in ended} == {"succeeded"}, [job.message for job in ended]
    attempts = [attempt for job in ended for attempt in job.json["attempts"]]
    lost = [attempt for attempt in attempts if attempt["reason"] != "completed"]
    assert [attempt["reason"] for attempt in lost] == ["worker_disk_full"], lost
    assert str(disk) in lost[0]["message"]
    (fault,) = faults
    assert "worker_disk_full" in fault
    assert str(disk) in fault
