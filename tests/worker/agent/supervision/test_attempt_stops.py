"""Attempts that are stopped: the job is cancelled, or the agent shuts down."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from ipulse_core.states import JobState
from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision import delivery
from tests.ipulse.stack.guarded import Watched
from tests.worker.agent.attempts import logged_pid
from tests.worker.agent.conftest import RUNNERS, agent_with, in_background
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.fake_service import FakeService


class TestFinish:
    @pytest.mark.parametrize("heartbeat_seconds", [0.1, 3600.0])
    def test_the_results_are_stored(
        self, tmp_path: Path, settings: AgentSettings, heartbeat_seconds: float
    ) -> None:
        """The order comes with a heartbeat or before the next one; both give one result."""
        with FakeService(tmp_path / "token", 7200.0, heartbeat_seconds) as service:
            job_id = service.submit("finishes_when_asked")
            changes = {"service_url": service.url, "worker_token": service.token}
            with agent_with(settings, **changes) as agent, in_background(
                lambda: agent.run_job(job_id)
            ):
                logged_pid(service, job_id, "pid")
                service.finish_now(job_id)
            job = service.job(job_id)
        assert job.state is JobState.SUCCEEDED
        assert job.outcome["reason"] == "finished_early"
        assert job.outcome["summary"] == {"epochs_done": 0.5}
        assert job.last.artifact("weights").content
        assert job.last.artifacts[-1].role == "manifest"

    def test_asked_before_the_runner_is_ready(self, service: FakeService, agent: Agent) -> None:
        """The signal would end a program that imports still."""
        job_id = service.submit("finishes_when_asked")
        service.finish_now(job_id)
        agent.run_job(job_id)
        assert service.job(job_id).outcome["reason"] == "finished_early"

    def test_a_cancellation_after_it_counts(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("trains_until_released")
        with in_background(lambda: agent.run_job(job_id)):
            logged_pid(service, job_id, "pid")
            service.finish_now(job_id)
            service.cancel(job_id)
        assert service.job(job_id).state is JobState.CANCELLED


class TestCancel:
    def test_a_cancel_arrives_before_the_next_heartbeat(
        self, tmp_path: Path, settings: AgentSettings
    ) -> None:
        hour = 3600.0
        with FakeService(tmp_path / "token", 2 * hour, heartbeat_seconds=hour) as service:
            job_id = service.submit("trains_until_released")
            changes = {"service_url": service.url, "worker_token": service.token}
            with agent_with(settings, **changes) as agent, in_background(
                lambda: agent.run_job(job_id)
            ):
                logged_pid(service, job_id, "pid")
                service.cancel(job_id)
                service.wait_for(lambda: service.job(job_id).state is JobState.CANCELLED)

    def test_the_runner_may_write_a_checkpoint(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("trains_until_released")
        with in_background(lambda: agent.run_job(job_id)):
            logged_pid(service, job_id, "pid")
            service.cancel(job_id)
        job = service.job(job_id)
        assert job.state is JobState.CANCELLED
        assert job.outcome["reason"] == "cancelled_by_user"
        assert job.last.artifact("checkpoint").content == b"weights at the stop"

    def test_one_that_ignores_it_is_killed_with_all_its_descendants(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("daemonises_and_waits")
        hasty = agent_with(settings, grace_seconds=0.2)
        with hasty as agent, in_background(lambda: agent.run_job(job_id)):
            runner = Watched(logged_pid(service, job_id, "pid"))
            daemon = Watched(logged_pid(service, job_id, "daemon"))
            service.cancel(job_id)
        assert runner.ends()
        assert daemon.ends()
        job = service.job(job_id)
        assert job.state is JobState.CANCELLED
        assert "SIGKILL" in job.outcome["message"]
        assert job.last.logged("did not end within 0.2 s, and was killed")

    def test_while_the_runner_still_imports(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("completes")
        changes = {"runner_module": f"{RUNNERS}.never_ready", "grace_seconds": 0.2}
        with agent_with(settings, **changes) as agent, in_background(lambda: agent.run_job(job_id)):
            service.wait_for(lambda: service.job(job_id).attempts)
            service.wait_for(lambda: service.job(job_id).last.logged("importing"))
            service.cancel(job_id)
        assert service.job(job_id).state is JobState.CANCELLED

    def test_just_before_the_runner_is_ready(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("completes")
        late = agent_with(settings, runner_module=f"{RUNNERS}.ready_too_late", grace_seconds=0.5)
        with late as agent, in_background(lambda: agent.run_job(job_id)):
            service.wait_for(lambda: service.job(job_id).attempts)
            service.wait_for(lambda: service.job(job_id).last.logged("importing"))
            service.cancel(job_id)
        job = service.job(job_id)
        assert job.state is JobState.CANCELLED
        assert {event["kind"] for event in job.last.events} <= {"log", "progress"}

    def test_a_result_that_is_complete_counts(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("completes_when_released")
        with in_background(lambda: agent.run_job(job_id)):
            service.wait_for(lambda: service.job(job_id).state is JobState.RUNNING)
            service.cancel(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED


class TestShutdown:
    def test_the_attempt_ends_with_its_checkpoint_and_the_job_resumes_elsewhere(
        self, service: FakeService, agent: Agent
    ) -> None:
        job_id = service.submit("trains_until_released")
        with in_background(lambda: agent.run_job(job_id)):
            logged_pid(service, job_id, "pid")
            agent.stop()
        job = service.job(job_id)
        assert job.outcome["reason"] == "worker_stopped"
        assert job.state is JobState.QUEUED
        assert job.checkpoint is not None
        assert job.checkpoint.content == b"weights at the stop"

    def test_a_runner_that_ignores_it_is_killed(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("ignores_term")
        hasty = agent_with(settings, grace_seconds=0.2)
        with hasty as agent, in_background(lambda: agent.run_job(job_id)):
            runner = Watched(logged_pid(service, job_id, "pid"))
            agent.stop()
        assert runner.ends()
        assert service.job(job_id).outcome["reason"] == "worker_stopped"

    def test_a_complete_result_is_not_thrown_away(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("completes_when_released")
        with in_background(lambda: agent.run_job(job_id)):
            service.wait_for(lambda: service.job(job_id).state is JobState.RUNNING)
            agent.stop()
        assert service.job(job_id).state is JobState.SUCCEEDED

    def test_it_does_not_wait_for_a_service_that_hangs(
        self, service: FakeService, settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(delivery, "DELIVERY_SECONDS", 0.3)
        hanging, may_answer = threading.Event(), threading.Event()

        def hang(method: str, path: str) -> None:
            if path.endswith("/events") and hanging.is_set():
                service.changed.release()  # heartbeats still get their answer
                may_answer.wait(DEADLINE)
                service.changed.acquire()

        service.faults.append(hang)
        job_id = service.submit("trains_until_released")
        began = 0.0
        with agent_with(settings) as agent, in_background(lambda: agent.run_job(job_id)):
            logged_pid(service, job_id, "pid")
            hanging.set()
            began = time.monotonic()
            agent.stop()
        assert time.monotonic() - began < DEADLINE / 2
        may_answer.set()
        assert service.job(job_id).last.outcome is None, "the lease runs out, another goes on"

    def test_an_earlier_outcome_stands(self, service: FakeService, settings: AgentSettings) -> None:
        job_id = service.submit("diverges_and_hangs")
        hasty = agent_with(settings, grace_seconds=0.5)
        with hasty as agent, in_background(lambda: agent.run_job(job_id)):
            service.wait_for(lambda: service.job(job_id).attempts)
            service.wait_for(lambda: service.job(job_id).last.logged("said it"))
            agent.stop()
        assert service.job(job_id).outcome["reason"] == "diverged"

    def test_no_other_job_is_begun(self, service: FakeService, agent: Agent) -> None:
        agent.stop()
        agent.run_job(service.submit("completes"))
        assert service.requests == []
