"""Attempts that start from a file of another job."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ipulse_core.states import JobState
from ipulse_worker.agent import retry_policy
from ipulse_worker.agent.agent import Agent
from tests.worker.agent.fake_jobs import Artifact
from tests.worker.agent.fake_service import FakeService


def world(service: FakeService, job_id: str) -> dict[str, Any]:
    (line,) = [m for m in service.job(job_id).last.messages("runner") if m.startswith("{")]
    shown: dict[str, Any] = json.loads(line)
    return shown


@pytest.mark.parametrize("mode", ["continue", "weights"])
def test_the_runner_gets_the_file(service: FakeService, agent: Agent, mode: str) -> None:
    job_id = service.submit("shows_its_world")
    content = b"a checkpoint of another job"
    service.job(job_id).start_from = Artifact("checkpoint.npz", "checkpoint", content)
    service.job(job_id).start_mode = mode
    agent.run_job(job_id)
    assignment = world(service, job_id)["assignment"]
    assert (assignment["start_mode"], assignment["checkpoint"]) == (mode, None)
    assert world(service, job_id)["start_file"] == content.decode()


def test_a_checkpoint_of_its_own_comes_first(service: FakeService, agent: Agent) -> None:
    job_id = service.submit("shows_its_world")
    service.job(job_id).start_from = Artifact("checkpoint.npz", "checkpoint", b"another job")
    service.job(job_id).checkpoint = Artifact("checkpoint", "checkpoint", b"its own")
    agent.run_job(job_id)
    shown = world(service, job_id)
    assert (shown["checkpoint"], shown["assignment"]["start_from"]) == ("its own", None)


def test_the_runner_gets_every_op_also_when_it_resumes(service: FakeService, agent: Agent) -> None:
    for checkpoint in (None, Artifact("checkpoint", "checkpoint", b"its own")):
        job_id = service.submit("shows_its_world")
        ops = [Artifact(f"op{n}.tar", "package", f"op {n}".encode()) for n in range(2)]
        service.job(job_id).ops = ops
        service.job(job_id).checkpoint = checkpoint
        service.job(job_id).start_from = Artifact("weights.npz", "weights", b"weights")
        agent.run_job(job_id)
        shown = world(service, job_id)
        assert shown["ops"] == {op.sha256: op.content.decode() for op in ops}
        assert (shown["assignment"]["start_from"] is None) == (checkpoint is not None)


def test_a_job_without_one_of_its_ops_fails_with_the_reason(
    service: FakeService, agent: Agent
) -> None:
    class Damaged(Artifact):
        sha256 = "00" * 32

    job_id = service.submit("shows_its_world")
    service.job(job_id).ops = [Damaged("pool_op", "package", b"another op")]
    agent.run_job(job_id)
    job = service.job(job_id)
    assert job.outcome["reason"] == "data_unavailable"
    assert "pool_op" in job.outcome["message"]


def test_a_job_whose_op_the_service_has_lost_fails_with_the_reason(
    service: FakeService, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry_policy, "FIRST_PAUSE", 0.0)
    job_id = service.submit("shows_its_world")
    service.job(job_id).ops = [Artifact("pool_op", "package", b"an op")]
    service.fail("/ops/", 500, times=1000)
    agent.run_job(job_id)
    job = service.job(job_id)
    assert job.outcome["reason"] == "data_unavailable"
    assert "pool_op" in job.outcome["message"]


@pytest.mark.parametrize("how", ["gone", "lost", "damaged"])
def test_without_the_file_the_job_fails_with_the_reason(
    service: FakeService, agent: Agent, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A start from the beginning would be another training."""
    monkeypatch.setattr(retry_policy, "FIRST_PAUSE", 0.0)
    job_id = service.submit("shows_its_world")
    service.job(job_id).start_from = Artifact("checkpoint.npz", "checkpoint", b"another job")
    if how == "gone":
        service.fail("start-file", 404)
    elif how == "lost":
        service.fail("start-file", 503, times=1000)
        service.fault_code = "artifact_store"
    else:

        class Damaged(Artifact):
            sha256 = "00" * 32

        service.job(job_id).start_from = Damaged("checkpoint.npz", "checkpoint", b"another job")
    agent.run_job(job_id)
    job = service.job(job_id)
    assert job.state is JobState.FAILED
    assert job.outcome["reason"] == "data_unavailable"
    assert "checkpoint.npz" in job.outcome["message"]
