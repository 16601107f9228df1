"""An agent on a faulty machine gives its job to another agent and takes no more."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse_core.states import JobState
from ipulse_worker.agent.registration import host_check
from ipulse_worker.agent.registration.orphans import OrphanReleaser
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.delivery import LAST_TRIES
from ipulse_worker.agent.supervision.runner_process import RunnerProcess
from ipulse_worker.agent.work_directory import WorkDirectory
from tests.ipulse.stack.guarded import Watched
from tests.service.conditions import eventually
from tests.worker.agent.attempts import attempt, end_lease, logged_pid
from tests.worker.agent.conftest import agent_with, in_background
from tests.worker.agent.fake_service import FakeService
from tests.worker.disks import fill, small_disk


@pytest.fixture
def small(settings: AgentSettings, tmp_path: Path) -> Iterator[AgentSettings]:
    """Settings of an agent with its work directory on a disk of 8 MiB."""
    with small_disk(tmp_path / "small", "size=8m,mode=0700,nr_inodes=200") as disk:
        yield settings.model_copy(update={"work_dir": disk, "least_free_bytes": 2**16})


def test_a_job_that_fills_the_disk_costs_its_agent_nothing(
    service: FakeService, small: AgentSettings
) -> None:
    job_id = service.submit("fills_the_disk")
    with agent_with(small) as agent:
        agent.run_job(job_id)
        job = service.job(job_id)
        assert job.outcome["reason"] == "worker_disk_full"
        assert str(small.work_dir) in job.outcome["message"]
        assert job.last.logged("This worker takes no job")
        tried = job.last.lacking["disk_bytes"]
        assert tried == pytest.approx(shutil.disk_usage(small.work_dir).total, rel=0.05)
        assert job.state is not JobState.FAILED
        assert [path.suffix for path in small.work_dir.iterdir()] == [".agent"]
        assert agent.quarantine.trouble is None
        other = service.submit("completes")
        agent.run_job(other)
    assert service.job(other).state is JobState.SUCCEEDED


def test_an_agent_with_a_full_disk_claims_nothing_until_there_is_room(
    service: FakeService, small: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_check, "CHECK_SECONDS", 0.0)
    job_id = service.submit("completes")
    with agent_with(small) as agent:
        filler = fill(small.work_dir)
        agent.run_job(job_id)
        assert service.job(job_id).attempts == []
        assert agent.quarantine.quarantined == small.device_kinds
        filler.unlink()
        # A process that was just begun may have the file open until it runs its own program.
        eventually(lambda: shutil.disk_usage(small.work_dir).free)
        agent.run_job(job_id)
    assert service.job(job_id).state is JobState.SUCCEEDED


def test_a_work_directory_that_cannot_be_made_gives_the_job_back(
    service: FakeService, small: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last inode is taken after the check."""
    monkeypatch.setattr(host_check, "LEAST_INODES", 0)
    with agent_with(small) as agent:
        assert agent.quarantine.trouble is None
        disk = os.statvfs(small.work_dir)
        for number in range(disk.f_favail - 1):
            (small.work_dir / f"{number}.taken").touch()
        job = service.job(attempt(service, agent, "completes"))
    assert job.outcome["reason"] == "worker_disk_full"
    assert str(small.work_dir / job.last.id) in job.outcome["message"]
    assert "0 of" in job.outcome["message"]
    assert "inodes" in job.outcome["message"]


def test_a_fault_is_reported_late_if_the_service_was_away(
    service: FakeService, settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: WorkDirectory) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    monkeypatch.setattr(WorkDirectory, "__enter__", full)
    service.fail("finish", 503, times=LAST_TRIES)
    with agent_with(settings) as agent:
        job_id = attempt(service, agent, "completes")
        service.wait_for(lambda: service.job(job_id).last.outcome)
    assert service.job(job_id).outcome["reason"] == "worker_disk_full"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EAGAIN])
def test_a_runner_that_cannot_be_started_gives_the_job_back(
    service: FakeService,
    settings: AgentSettings,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(RunnerProcess, "__init__", refuse)
    with agent_with(settings) as agent:
        job = service.job(attempt(service, agent, "completes"))
        assert job.outcome["reason"] == "worker_limit"
        assert os.strerror(number) in job.outcome["message"]
        assert agent.quarantine.usable == ()


def test_a_thread_that_cannot_be_started_gives_the_job_back(
    service: FakeService, settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "uploader":
            raise RuntimeError("can't start new thread")
        start(thread)

    with agent_with(settings) as agent:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        job = service.job(attempt(service, agent, "completes"))
    assert job.outcome["reason"] == "worker_limit"
    assert [path.name for path in settings.work_dir.iterdir()] == []


def test_an_agent_with_too_few_descriptors_claims_nothing(
    service: FakeService, settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_check, "CHECK_SECONDS", 0.0)
    job_id = service.submit("completes")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with agent_with(settings) as agent:
        used = len(os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, before[1]))
        try:
            agent.run_job(job_id)
            trouble = agent.quarantine.trouble
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert service.job(job_id).attempts == []
    assert trouble is not None
    assert "ulimit -n" in trouble.message


def test_the_files_of_an_unreported_attempt_go_once_the_service_knows_its_end(
    service: FakeService, settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ipulse_worker.agent.registration.orphans.UNREPORTED_SECONDS", 0.0)
    job_id = service.submit("ignores_term")
    with agent_with(settings) as agent:
        releaser = OrphanReleaser(agent._api, settings.work_dir)
        monkeypatch.setattr(agent, "_orphan_releaser", releaser)  # one that the test calls
        with in_background(lambda: agent.run_job(job_id)):
            runner = Watched(logged_pid(service, job_id, "pid"))
            service.hang_up()
            end_lease(agent)
            assert runner.ends()
        directory = settings.work_dir / service.job(job_id).last.id
        assert directory.exists()
        service.listen()
        releaser._end_unreported()
        assert not directory.exists()


def test_a_disk_that_stays_broken_is_logged_once(
    settings: AgentSettings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ipulse_worker.agent.registration.orphans.EVERY_SECONDS", 0.0)
    looked, enough = [0], threading.Event()

    def fail() -> None:
        looked[0] += 1
        if looked[0] == 50:
            enough.set()
        raise OSError(errno.EIO, os.strerror(errno.EIO), "/work/a.lease")

    releaser = OrphanReleaser(Any, settings.work_dir)  # type: ignore[arg-type]
    monkeypatch.setattr(releaser, "release", fail)
    releaser.start()
    assert enough.wait(60)
    releaser.end()
    lines = [each for each in caplog.records if each.message == "orphans_not_released"]
    assert len(lines) == 1
