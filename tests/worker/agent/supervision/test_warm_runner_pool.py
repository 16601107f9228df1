"""Warm runners make starts fast, and their failures do not affect jobs."""

from __future__ import annotations

import json
import os
import signal
import threading

import pytest

from ipulse_core.spec.job_kinds import CODE_ONLY_VARIABLE, PROGRAM
from ipulse_core.states import JobState
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.runner_process import RunnerProcess
from ipulse_worker.agent.supervision.warm_runner_pool import WarmRunnerPool
from tests.ipulse.stack.guarded import Watched
from tests.worker.agent.conftest import RUNNERS, agent_with, in_background
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.fake_service import FakeService
from tests.worker.agent.offspring import Offspring


class TestAttempts:
    def test_a_job_runs_in_the_process_that_waited(
        self, offspring: Offspring, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("shows_its_world")
        with agent_with(settings, warm=True) as agent:
            waiting = offspring.runners()
            agent.run_job(job_id)
        world = json.loads(service.job(job_id).last.messages("runner")[0])
        assert [world["pid"]] == waiting

    def test_the_start_of_a_cold_runner_is_reported_step_by_step(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("completes")
        with agent_with(settings) as agent:
            agent.run_job(job_id)
        events = service.job(job_id).last.events
        first, *steps = [event["message"] for event in events if event["kind"] == "progress"]
        assert "start" in first
        assert steps == ["importing", "loading"]
        kinds = [event["kind"] for event in events]
        assert kinds.index("progress") < kinds.index("phase")

    def test_the_start_of_a_warm_runner_that_is_over_is_not_reported(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        warm = WarmRunnerPool(lambda: RunnerProcess(settings), is_enabled=True)
        warm.prepare()
        runner = warm.take()
        assert runner is not None
        assert runner.ready.wait(DEADLINE)
        received: list[str] = []
        runner.listen(lambda message: received.append(getattr(message, "kind", "")))
        assert "ready" in received
        assert "progress" not in received
        runner.kill()
        assert runner.ended.wait(DEADLINE)

    def test_a_job_with_device_options_gets_a_new_process_with_them(
        self, offspring: Offspring, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("shows_its_world")
        options = {"autoReport.all": "true"}
        service.job(job_id).spec["device"] = {"kind": "ipu", "engine_options": options}
        with agent_with(settings, warm=True) as agent:
            waiting = offspring.runners()
            agent.run_job(job_id)
            assert waiting == offspring.runners()  # for the next job
        world = json.loads(service.job(job_id).last.messages("runner")[0])
        assert [world["pid"]] != waiting
        options = json.loads(world["environment"]["POPLAR_ENGINE_OPTIONS"])
        assert options["autoReport.all"] == "true"
        assert options["autoReport.directory"].startswith(world["assignment"]["work_dir"])

    def test_a_program_gets_a_new_process_that_imports_nothing_for_trainings(
        self, offspring: Offspring, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("shows_its_world")
        spec = service.job(job_id).spec
        del spec["network"]
        spec.update(kind=PROGRAM, package=f"sha256:{'0' * 64}", sources=["main.cpp"])
        spec["device"] = {"kind": "emulator"}
        with agent_with(settings, warm=True) as agent:
            waiting = offspring.runners()
            agent.run_job(job_id)
            assert waiting == offspring.runners()  # for the next training
        world = json.loads(service.job(job_id).last.messages("runner")[0])
        assert [world["pid"]] != waiting
        assert world["environment"][CODE_ONLY_VARIABLE]

    def test_another_is_started_during_the_report_and_not_during_the_training(
        self, offspring: Offspring, service: FakeService, settings: AgentSettings
    ) -> None:
        job_id = service.submit("trains_then_reports_for_ever")
        with agent_with(settings, warm=True) as agent:
            first = offspring.runners()
            with in_background(lambda: agent.run_job(job_id)):
                service.wait_for(lambda: service.job(job_id).state is JobState.RUNNING)
                service.wait_for(lambda: service.job(job_id).last.logged("trained"))
                assert offspring.runners() == first
                os.kill(first[0], signal.SIGUSR1)  # continue with the report
                service.wait_for(lambda: service.job(job_id).state is JobState.REPORTING)
                while len(offspring.runners()) == 1:
                    pass
                agent.stop()
        assert service.job(job_id).outcome["reason"] == "worker_stopped"

    def test_one_killed_while_it_waits_is_replaced_by_a_cold_start(
        self, offspring: Offspring, service: FakeService, settings: AgentSettings
    ) -> None:
        with agent_with(settings, warm=True) as agent:
            (pid,) = offspring.runners()
            watched = Watched(pid)
            os.kill(pid, signal.SIGKILL)
            assert watched.ends()
            job_id = service.submit("completes")
            agent.run_job(job_id)
        job = service.job(job_id)
        assert job.state is JobState.SUCCEEDED
        assert len(job.attempts) == 1

    def test_one_that_dies_when_it_is_given_the_job_is_replaced_by_a_cold_start(
        self, service: FakeService, settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A race that no earlier check can exclude."""
        assign = RunnerProcess.assign
        killed = threading.Event()

        def kill_the_first(runner: RunnerProcess, assignment: object) -> None:
            if not killed.is_set():
                killed.set()
                os.kill(runner.pid, signal.SIGKILL)
                return
            assign(runner, assignment)  # type: ignore[arg-type]  # passed on as it came

        monkeypatch.setattr(RunnerProcess, "assign", kill_the_first)
        with agent_with(settings, warm=True) as agent:
            job_id = service.submit("completes")
            agent.run_job(job_id)
        assert killed.is_set()
        job = service.job(job_id)
        assert job.state is JobState.SUCCEEDED
        assert len(job.attempts) == 1

    def test_one_that_never_imports_is_given_up(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        changes = {"ready_seconds": 0.3, "runner_module": f"{RUNNERS}.never_ready"}
        with agent_with(settings, warm=True, **changes) as agent:
            job_id = service.submit("completes")
            agent.run_job(job_id)
        assert service.job(job_id).outcome["reason"] == "runner_lost"
        assert "not ready within 0.3 s" in service.job(job_id).outcome["message"]
