"""Attempts that are stopped while they wait for a service that sends none of their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse_core.states import Reason
from ipulse_worker.agent.settings import AgentSettings
from tests.worker.agent.conftest import agent_with, in_background
from tests.worker.agent.fake_handler import HANG_UP
from tests.worker.agent.fake_jobs import Artifact
from tests.worker.agent.fake_service import FakeService


@pytest.mark.parametrize("order", ["cancel", "stop"])
@pytest.mark.parametrize("path", ["art_checkpoint", "/start-file", "/ops/", "/dataset"])
def test_it_ends_with_the_outcome(
    tmp_path: Path, settings: AgentSettings, path: str, order: str
) -> None:
    hour = 3600.0  # no heartbeat says that the service is there
    with FakeService(tmp_path / "token", 2 * hour, heartbeat_seconds=hour) as service:
        job_id = service.submit("trains_until_released")
        job = service.job(job_id)
        file = Artifact("file.npz", "checkpoint", b"content")
        if path == "art_checkpoint":
            job.checkpoint = file
        elif path == "/start-file":
            job.start_from = file
        elif path == "/ops/":
            job.ops = [file]
        else:
            job.spec["data"] = {"kind": "n_mnist", "dataset": f"sha256:{file.sha256}"}
        service.fail(path, HANG_UP, times=1000)
        changes = {"service_url": service.url, "worker_token": service.token}
        with agent_with(settings, **changes) as agent, in_background(lambda: agent.run_job(job_id)):
            service.wait_for(lambda: sum(path in each for _, each in service.requests) > 1)
            if order == "cancel":
                service.cancel(job_id)
            else:
                agent.stop()
            service.wait_for(lambda: job.last.outcome)
        expected = Reason.CANCELLED_BY_USER if order == "cancel" else Reason.WORKER_STOPPED
        assert job.outcome["reason"] == expected
        assert job.last.messages("runner") == []
        assert list(settings.work_dir.glob("att_*")) == []
