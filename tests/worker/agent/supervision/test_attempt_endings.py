"""Outcomes of attempts, with runners of every behaviour."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from ipulse_core.states import JobState
from ipulse_worker.agent import retry_policy
from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.settings import AgentSettings
from tests.ipulse.stack.guarded import Watched
from tests.worker.agent.attempts import attempt, logged_pid
from tests.worker.agent.conftest import RUNNERS, agent_with, in_background
from tests.worker.agent.fake_service import FakeService


class TestEndings:
    @pytest.mark.parametrize(
        ("behaviour", "words"),
        [
            ("is_killed", "signal 9 (SIGKILL)"),
            ("crashes", "signal 11 (SIGSEGV)"),
            ("exits_silently", "exited with code 0"),
            ("dies_in_the_middle_of_an_event", "exited with code 0"),
            ("stops_by_another_hand", "another process than this agent"),
        ],
    )
    def test_no_reported_outcome_is_a_lost_runner(
        self, service: FakeService, agent: Agent, behaviour: str, words: str
    ) -> None:
        job = service.job(attempt(service, agent, behaviour))
        assert job.outcome["reason"] == "runner_lost"
        assert words in job.outcome["message"]
        assert job.state is JobState.QUEUED, "the next attempt may do better"

    def test_a_crash_leaves_its_traceback_in_the_log(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "crashes"))
        assert job.last.logged("about to crash")
        assert job.last.logged("Segmentation fault")
        assert job.last.logged("in crashes")

    def test_the_outcome_of_the_runner_is_reported(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "diverges"))
        assert job.state is JobState.FAILED
        assert job.outcome == {
            "reason": "diverged",
            "message": "The loss is NaN at step 3.",
            "summary": {"step": 3.0},
        }

    @pytest.mark.parametrize(
        ("behaviour", "words"),
        [
            ("writes_garbage", "no event"),
            ("writes_an_endless_event", "1,048,576 bytes"),
            ("speaks_for_the_service", "worker_lost"),
            ("forgets_the_manifest", "without a manifest"),
            ("goes_backwards", "refused an event"),
        ],
    )
    def test_breaking_the_protocol_is_an_error_of_the_runner(
        self, service: FakeService, agent: Agent, behaviour: str, words: str
    ) -> None:
        job = service.job(attempt(service, agent, behaviour))
        assert job.outcome["reason"] == "runner_error"
        assert words in job.outcome["message"]
        assert job.state is JobState.FAILED

    def test_a_spec_of_a_later_release_is_not_run(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("completes")
        service.job(job_id).spec["network"]["layers"][0]["of_tomorrow"] = 1
        agent.run_job(job_id)
        job = service.job(job_id)
        assert job.outcome["reason"] == "runner_error"
        assert "/network/layers/0/of_tomorrow" in job.outcome["message"]
        assert job.state is JobState.FAILED

    @pytest.mark.parametrize("behaviour", ["names_a_missing_file", "names_a_link"])
    def test_an_artifact_that_cannot_be_stored_fails_the_job_and_keeps_the_manifest_back(
        self, service: FakeService, agent: Agent, behaviour: str
    ) -> None:
        job = service.job(attempt(service, agent, behaviour))
        assert job.outcome["reason"] == "artifact_store"
        assert "report.html" in job.outcome["message"]
        assert [artifact.role for artifact in job.last.artifacts] == ["metrics", "weights"]

    @pytest.mark.parametrize(
        ("behaviour", "words"),
        [
            ("lists_other_weights", "weights.npz has the SHA-256"),
            ("lists_many_files_that_are_not_there", "(and 1001 more)"),
            ("writes_no_manifest_into_it", "/schema: this field is required"),
        ],
    )
    def test_a_manifest_of_other_files_than_those_that_were_stored_is_no_result(
        self, service: FakeService, agent: Agent, behaviour: str, words: str
    ) -> None:
        job = service.job(attempt(service, agent, behaviour))
        assert job.outcome["reason"] == "artifact_store"
        assert words in job.outcome["message"]
        assert [artifact.role for artifact in job.last.artifacts] == ["metrics", "weights"]

    def test_errors_after_the_outcome_do_not_change_it(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "fails_after_done"))
        assert job.state is JobState.SUCCEEDED

    def test_a_runner_that_does_not_end_after_its_outcome_is_killed(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        with agent_with(settings, grace_seconds=0.2) as agent:
            job = service.job(attempt(service, agent, "hangs_when_done"))
        assert job.state is JobState.SUCCEEDED
        assert job.last.logged("did not end within 0.2 s, and was killed")

    def test_a_process_left_behind_has_ended_before_the_outcome_is_reported(
        self, service: FakeService, agent: Agent
    ) -> None:
        job_id = service.submit("double_forks")
        alive_at_verdict: list[set[str]] = []

        def look(method: str, path: str) -> None:
            if path.endswith("/finish"):  # which the event that names the process may come with
                alive_at_verdict.append({each.name for each in Path("/proc").iterdir()})

        service.faults.append(look)
        agent.run_job(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED
        (pid,) = [m.split()[1] for m in service.job(job_id).last.messages("runner")]
        (alive,) = alive_at_verdict
        assert str(os.getpid()) in alive
        assert pid not in alive

    def test_a_killed_guardian_is_a_lost_runner(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("ignores_term")
        with in_background(lambda: agent.run_job(job_id)):
            runner = Watched(logged_pid(service, job_id, "pid"))
            guardian = psutil.Process(runner.pid).parent()
            assert guardian is not None
            guardian.kill()
        assert runner.ends()
        assert service.job(job_id).outcome["reason"] == "runner_lost"

    def test_a_runner_that_is_never_ready_is_given_up(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        changes = {"ready_seconds": 0.5, "runner_module": f"{RUNNERS}.never_ready"}
        with agent_with(settings, **changes) as agent:
            job = service.job(attempt(service, agent, "completes"))
        assert job.outcome["reason"] == "runner_lost"
        assert "not ready within 0.5 s" in job.outcome["message"]

    def test_a_runner_that_starts_slowly_is_waited_for(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        """It takes longer than the limit, but works all the time."""
        changes = {"ready_seconds": 2.0, "runner_module": f"{RUNNERS}.slow_import"}
        with agent_with(settings, **changes) as agent:
            job = service.job(attempt(service, agent, "completes"))
        assert job.state is JobState.SUCCEEDED, job.outcome
        assert len(job.attempts) == 1

    def test_a_runner_that_cannot_import_reports_the_error(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        with agent_with(settings, runner_module=f"{RUNNERS}.missing_library") as agent:
            job = service.job(attempt(service, agent, "completes"))
        assert job.outcome["reason"] == "runner_lost"
        assert job.last.logged("No module named 'no_such_tensorflow'")

    def test_a_missing_interpreter_is_named(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        with agent_with(settings, runner_python="/opt/graphcore/bin/python") as agent:
            job = service.job(attempt(service, agent, "completes"))
        assert job.outcome["reason"] == "runner_lost"
        assert "/opt/graphcore/bin/python: No such file" in job.outcome["message"]


def test_a_file_that_a_proxy_always_refuses_fails_the_job_with_a_message(
    service: FakeService, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry_policy, "LONGEST_PAUSE", 0.1)
    job_id = service.submit("completes")
    service.fail("artifacts/weights", 502, times=1000)
    service.fault_code = ""
    agent.run_job(job_id)
    job = service.job(job_id)
    assert job.outcome["reason"] == "artifact_store"
    assert job.outcome["message"].startswith("weights.npz could not be stored")
