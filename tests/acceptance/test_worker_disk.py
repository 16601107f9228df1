"""Agents with the real runner, some of them with their work directory on a disk of 1 MiB."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
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
SMALL = 3
SECONDS = 600.0


@pytest.mark.verify
def test_a_job_that_fits_no_disk_costs_no_agent(
    stack: Stack, client: Connection, tmp_path: Path
) -> None:
    """The agent that has room drains meanwhile; then it runs the jobs that are too large."""
    (large,) = [agent for agent in client.agents() if agent.state == "idle"]
    client.drain_agent(large.name)
    small = {**SPEC, "network": {"layers": [{"neurons": 16}]}}
    with ExitStack() as undoing:
        for number in range(SMALL):
            options = "size=1m,mode=0700"
            disk = undoing.enter_context(small_disk(tmp_path / f"small-{number}", options))
            variables = {"IPULSE_WORK_DIR": str(disk), "IPULSE_LEAST_FREE_BYTES": "1"}
            undoing.enter_context(stack.more_agent(f"small-{number}", variables))
        jobs = [client.submit({**SPEC, "seed": seed}) for seed in range(JOBS)]
        fitting = [
            client.submit({**small, "seed": seed}).wait(SECONDS, check=False) for seed in (1, 2)
        ]
        assert {job.state.value for job in fitting} == {"succeeded"}
        waiting = [client.job(job.id) for job in jobs]
        reasons = {job.json["reason"] for job in waiting if job.json["attempts"]}
        assert reasons <= {"worker_disk_full", None}
        states = {agent.name: agent.state for agent in client.agents() if agent.name != large.name}
        assert "faulty" not in states.values()
        client.resume_agent(large.name)
        ended = [client.job(job.id).wait(SECONDS, check=False) for job in jobs]
    assert {job.state.value for job in ended} == {"succeeded"}, [job.message for job in ended]
    for job in ended:
        lost = [one for one in job.json["attempts"] if one["reason"] != "completed"]
        assert len(lost) <= 1, lost  # no second attempt at a disk of the same size


@pytest.mark.verify
def test_a_job_is_told_that_it_fits_no_disk(tmp_path: Path) -> None:
    with ExitStack() as undoing:
        disk = undoing.enter_context(small_disk(tmp_path / "small", "size=1m,mode=0700"))
        stack = undoing.enter_context(Stack(tmp_path / "home", agents=0))
        client = undoing.enter_context(Connection(stack.url, token_file=stack.token_path))
        variables = {"IPULSE_WORK_DIR": str(disk), "IPULSE_LEAST_FREE_BYTES": "1"}
        undoing.enter_context(stack.more_agent("small", variables))
        job = client.submit(SPEC).wait(SECONDS, check=False)
        assert (job.state.value, job.json["reason"]) == ("failed", "worker_disk_full")
        assert "more than any worker has" in job.message
        assert len(job.json["attempts"]) == 1
        (agent,) = client.agents()
        assert agent.state == "idle"
