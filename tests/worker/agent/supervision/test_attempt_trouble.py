"""Attempts during errors, outages and refusals of the service."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from ipulse_core.states import JobState, Reason
from ipulse_worker.agent import retry_policy
from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.uploads import uploader
from tests.ipulse.stack.guarded import Watched
from tests.service.conditions import eventually
from tests.worker.agent.attempts import attempt, end_lease, logged_pid
from tests.worker.agent.conftest import agent_with, in_background
from tests.worker.agent.fake_handler import HANG_UP
from tests.worker.agent.fake_jobs import Refusal
from tests.worker.agent.fake_service import FakeService


class TestTrouble:
    """Outages of the service, which never fail a job."""

    def test_errors_of_the_service_are_waited_out(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("completes")
        for path in ("claims", "events", "artifacts/weights", "finish"):
            service.fail(path, 503)
            service.fail(path, 500)
        agent.run_job(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED

    @pytest.mark.parametrize("limit", [1, uploader.MANIFEST_BYTES])
    def test_a_manifest_that_cannot_travel_with_the_end_goes_by_itself(
        self,
        service: FakeService,
        agent: Agent,
        monkeypatch: pytest.MonkeyPatch,
        limit: int,
    ) -> None:
        """The manifest is too large, or the service refuses a part of the request."""
        monkeypatch.setattr(uploader, "MANIFEST_BYTES", limit)
        job_id = service.submit("completes")
        if limit > 1:
            service.fail("finish", 422)
        agent.run_job(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED
        assert sum("artifacts/manifest" in path for _, path in service.requests) == 1

    def test_a_store_that_cannot_take_the_manifest_fails_the_job_with_a_message(
        self, service: FakeService, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retry_policy, "FIRST_PAUSE", 0.0)
        service.refuse_manifests = True
        job = service.job(attempt(service, agent, "completes"))
        assert job.outcome["reason"] == "artifact_store"
        assert job.outcome["message"].startswith("manifest.json could not be stored: the disk")

    def test_a_spec_of_a_later_version_fails_the_job_with_every_place(
        self, service: FakeService, agent: Agent
    ) -> None:
        job_id = service.submit("completes")
        service.job(job_id).spec["network"]["layers"][0]["later"] = 0
        service.job(job_id).spec["surprise"] = True
        agent.run_job(job_id)
        job = service.job(job_id)
        assert job.state is JobState.FAILED
        assert job.outcome["reason"] == Reason.RUNNER_ERROR
        message = job.outcome["message"]
        assert "/network/layers/0/later: there is no such field" in message
        assert "/surprise: there is no such field" in message

    def test_answers_that_get_lost_do_no_harm(self, service: FakeService, agent: Agent) -> None:
        """The service has processed a request, but its response was lost."""
        job_id = service.submit("talks", lines=50)
        for path in ("events", "events", "artifacts/metrics", "finish"):
            service.lose_answer(path)
        agent.run_job(job_id)
        job = service.job(job_id)
        assert job.state is JobState.SUCCEEDED
        assert job.last.messages("runner") == [f"line {number}" for number in range(50)]

    def test_a_short_absence_is_waited_out(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("trains_until_released")
        with in_background(lambda: agent.run_job(job_id)):
            logged_pid(service, job_id, "pid")
            service.hang_up()
            agent.stop()
            time.sleep(0.3)
            service.listen()
        assert service.job(job_id).outcome["reason"] == "worker_stopped"

    def test_an_absence_longer_than_the_lease_ends_the_runner(
        self, tmp_path: Path, settings: AgentSettings
    ) -> None:
        with FakeService(tmp_path / "token") as service:
            job_id = service.submit("ignores_term")
            changes = {"service_url": service.url, "worker_token": service.token}
            with agent_with(settings, **changes) as agent, in_background(
                lambda: agent.run_job(job_id)
            ):
                runner = Watched(logged_pid(service, job_id, "pid"))
                service.hang_up()
                end_lease(agent)
                assert runner.ends()
                # The results may exist nowhere else, so the directory stays.
                assert (settings.work_dir / service.job(job_id).last.id).is_dir()
                service.listen()
                service.wait_for(lambda: service.job(job_id).last.outcome)
            # The job is not at fault.
            assert service.job(job_id).outcome["reason"] == Reason.WORKER_STOPPED

    def test_a_service_that_cannot_take_the_outcome_is_no_fault_of_the_job(
        self, service: FakeService, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retry_policy, "FIRST_PAUSE", 0.0)
        job_id = service.submit("completes")
        service.fail("finish", 500, times=retry_policy.TRIES)
        agent.run_job(job_id)
        service.wait_for(lambda: service.job(job_id).last.outcome)
        assert service.job(job_id).outcome["reason"] == Reason.WORKER_STOPPED

    def test_a_superseded_attempt_is_not_called_unreported(
        self, service: FakeService, agent: Agent, caplog: pytest.LogCaptureFixture
    ) -> None:
        job_id = service.submit("completes")

        def supersede(_: str, path: str) -> None:
            if path.endswith("/finish"):
                service.job(job_id).last.is_superseded = True

        service.faults.append(supersede)
        agent.run_job(job_id)
        assert "attempt_superseded" in caplog.messages
        assert "attempt_not_reported" not in caplog.messages

    def test_results_wait_for_a_service_that_is_away_for_long(
        self, tmp_path: Path, settings: AgentSettings
    ) -> None:
        with FakeService(tmp_path / "token") as service:
            job_id = service.submit("completes_when_asked")
            changes = {"service_url": service.url, "worker_token": service.token}
            with agent_with(settings, **changes) as agent, in_background(
                lambda: agent.run_job(job_id)
            ):
                runner = Watched(logged_pid(service, job_id, "pid"))
                service.hang_up()
                os.kill(runner.pid, signal.SIGUSR1)
                assert runner.ends()
                eventually(lambda: agent._attempt is not None and agent._attempt._lease.may_expire)
                end_lease(agent)
                time.sleep(1.0)  # heartbeats fail meanwhile
                service.listen()
            assert service.job(job_id).state is JobState.SUCCEEDED
            assert len(service.job(job_id).attempts) == 1

    def test_a_stop_while_the_service_is_away_is_reported_by_the_next_agent(
        self, tmp_path: Path, settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ipulse_worker.agent.supervision.delivery.DELIVERY_SECONDS", 0.2)
        with FakeService(tmp_path / "token") as service:
            job_id = service.submit("trains_until_released")
            changes = {"service_url": service.url, "worker_token": service.token}
            with agent_with(settings, **changes) as agent, in_background(
                lambda: agent.run_job(job_id)
            ):
                logged_pid(service, job_id, "pid")
                service.hang_up()
                agent.stop()
            service.listen()
            with agent_with(settings, **changes):
                service.wait_for(lambda: service.job(job_id).last.outcome)
            assert service.job(job_id).outcome["reason"] == Reason.WORKER_STOPPED
            assert list(settings.work_dir.iterdir()) == []

    def test_a_superseded_attempt_ends_at_once_and_reports_nothing(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("ignores_term")
        with agent_with(settings) as agent, in_background(lambda: agent.run_job(job_id)):
            runner = Watched(logged_pid(service, job_id, "pid"))
            service.expire(job_id)
            assert runner.ends()
        assert service.job(job_id).last.outcome is None
        assert not any(path.endswith("/finish") for _, path in service.requests)
        assert list(settings.work_dir.iterdir()) == []

    def test_an_agent_suspended_past_its_lease_reports_nothing(
        self, tmp_path: Path, settings: AgentSettings
    ) -> None:
        """The agent was suspended (SIGSTOP, SIGCONT): late heartbeats are not sent."""
        # Long enough for the runner to begin on a busy machine.
        with FakeService(tmp_path / "token", lease_seconds=4.0, heartbeat_seconds=30.0) as service:
            job_id = service.submit("ignores_term")
            changes = {"service_url": service.url, "worker_token": service.token}
            with agent_with(settings, **changes) as agent, in_background(
                lambda: agent.run_job(job_id)
            ):
                runner = Watched(logged_pid(service, job_id, "pid"))
                assert runner.ends()
            assert not any(path.endswith("/heartbeat") for _, path in service.requests)
            outcome = service.job(job_id).last.outcome
            # Another thread of the agent may have given the job back by now.
            assert outcome is None or outcome["reason"] == Reason.WORKER_STOPPED

    def test_a_wrong_token_is_logged_once_and_not_retried(
        self, service: FakeService, settings: AgentSettings, caplog: pytest.LogCaptureFixture
    ) -> None:
        with agent_with(settings, worker_token="not the one" * 4) as agent:
            agent.run_job(service.submit("completes"))
        assert service.requests == [("POST", "/v1/worker/claims")]
        assert "claim_failed" in caplog.messages

    def test_a_service_of_another_version_is_left_to_other_agents(
        self,
        service: FakeService,
        agent: Agent,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        def refuse(_: object) -> object:
            raise Refusal(409, "wrong_protocol", "upgrade the agent")

        monkeypatch.setattr(service, "claim", refuse)
        agent.run_job(service.submit("completes"))
        [refused] = [line for line in caplog.records if line.message == "claim_failed"]
        assert refused.why == "upgrade the agent"  # type: ignore[attr-defined]  # an extra
        assert agent.quarantine.usable == ()
        assert agent.quarantine.seconds_left < float("inf"), "it asks again later"

    def test_a_service_that_is_not_there_does_not_end_the_agent(
        self, service: FakeService, agent: Agent
    ) -> None:
        job_id = service.submit("completes")
        service.fail("claims", HANG_UP, times=100)
        agent.run_job(job_id)
        service.faults.clear()
        agent.run_job(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED
