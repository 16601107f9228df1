"""An agent's process gets signals."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from ipulse.stack.redis_server import RedisServer
from ipulse_core.states import JobState
from tests.ipulse.stack.guarded import Watched
from tests.worker.agent.attempts import logged_pid
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.fake_service import FakeService
from tests.worker.agent.process.agent_process import AgentProcess, agent_process, publish
from tests.worker.agent.process.agent_process import agent as agent
from tests.worker.agent.process.agent_process import redis as redis
from tests.worker.agent.process.agent_process import service as service


class TestSignals:
    def test_sigterm_when_idle_ends_it_at_once_and_cleanly(self, agent: AgentProcess) -> None:
        assert agent.stop() == 0
        assert agent.count("agent_stopped") == 1

    def test_sigterm_ends_the_attempt_with_its_checkpoint(
        self, service: FakeService, redis: RedisServer, agent: AgentProcess
    ) -> None:
        job_id = service.submit("trains_until_released")
        publish(redis, job_id)
        logged_pid(service, job_id, "pid")
        assert agent.stop() == 0
        job = service.job(job_id)
        assert job.outcome["reason"] == "worker_stopped"
        assert job.checkpoint is not None
        assert job.checkpoint.content == b"weights at the stop"

    def test_sigkill_takes_the_runner_and_its_descendants_along(
        self, service: FakeService, redis: RedisServer, agent: AgentProcess
    ) -> None:
        job_id = service.submit("daemonises_and_waits")
        publish(redis, job_id)
        runner = Watched(logged_pid(service, job_id, "pid"))
        daemon = Watched(logged_pid(service, job_id, "daemon"))
        os.kill(agent.process.pid, signal.SIGKILL)
        assert runner.ends()
        assert daemon.ends()
        assert service.job(job_id).last.outcome is None

    def test_the_next_agent_releases_the_lease_and_resumes_the_job(
        self, service: FakeService, redis: RedisServer, tmp_path: Path, agent: AgentProcess
    ) -> None:
        """Another agent releases the lease of the dead one before it expires."""
        job_id = service.submit("trains_until_released")
        publish(redis, job_id)
        runner = Watched(logged_pid(service, job_id, "pid"))
        os.kill(agent.process.pid, signal.SIGKILL)
        with agent_process(service, redis, tmp_path / "work") as successor:
            service.wait_for(lambda: service.job(job_id).last.outcome)
            assert runner.has_ended(), "an orphan runs during the next attempt"
            assert service.job(job_id).outcome["reason"] == "worker_lost"
            publish(redis, job_id)
            service.wait_for(lambda: len(service.job(job_id).attempts) == 2)
            service.wait_for(lambda: service.job(job_id).last.logged("pid"))
            service.cancel(job_id)
            service.wait_for(lambda: service.job(job_id).state is JobState.CANCELLED)
            successor.stop()

    def test_an_agent_suspended_past_its_lease_reports_nothing_when_it_wakes(
        self, service: FakeService, redis: RedisServer, agent: AgentProcess
    ) -> None:
        job_id = service.submit("ignores_term")
        publish(redis, job_id)
        runner = Watched(logged_pid(service, job_id, "pid"))
        os.kill(agent.process.pid, signal.SIGSTOP)
        service.expire(job_id)
        claim = {"job_id": job_id, "agent": "another", "device_kinds": ["cpu"]}
        with service.changed:
            service.claim(claim)
        os.kill(agent.process.pid, signal.SIGCONT)
        assert runner.ends()
        agent.wait_for_action("attempt_superseded")
        assert [attempt.outcome for attempt in service.job(job_id).attempts] == [None, None]

    def test_a_hangup_is_a_request_to_stop(self, agent: AgentProcess) -> None:
        os.kill(agent.process.pid, signal.SIGHUP)
        assert agent.process.wait(DEADLINE) == 0


class TestStart:
    def test_wrong_settings_are_reported_and_end_it(
        self, service: FakeService, redis: RedisServer, tmp_path: Path
    ) -> None:
        changes = {"IPULSE_WARM": "perhaps", "IPULSE_RUNNER_PYTHON": "/no/python"}
        with agent_process(service, redis, tmp_path / "work", **changes) as agent:
            assert not agent.is_ready
            assert agent.process.wait(DEADLINE) == 2
            agent.wait_for_action("cannot_start")
            why = agent.lines[-1]["error"]
        assert "IPULSE_WARM" in why
        assert "/no/python" in why
