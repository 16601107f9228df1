"""Attempts from the user's point of view, with runners of every behaviour."""

from __future__ import annotations

import json
import os
import threading

import pytest

from ipulse.spec import parse_spec, spec_to_json
from ipulse_core.events import MAX_LINE
from ipulse_core.states import JobState
from ipulse_worker.agent import retry_policy
from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.registration.lease_record import LOCK
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.runner_supervisor import RunnerSupervisor
from ipulse_worker.agent.uploads import event_reporter as reporter
from tests.worker.agent.attempts import attempt
from tests.worker.agent.conftest import agent_with
from tests.worker.agent.fake_handler import HANG_UP
from tests.worker.agent.fake_jobs import Artifact
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.fake_service import FakeService
from tests.worker.agent.offspring import Offspring


class TestSuccess:
    def test_everything_arrives_and_the_manifest_last(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "completes"))
        assert job.state is JobState.SUCCEEDED
        assert job.outcome == {
            "reason": "completed",
            "message": "All well.",
            "summary": {"test_accuracy": 0.97},
        }
        assert [artifact.role for artifact in job.last.artifacts] == [
            "checkpoint",
            "metrics",
            "weights",
            "manifest",
        ]
        assert len(job.last.artifact("weights").content) == 3_000_000
        phases = [event["phase"] for event in job.last.events if event["kind"] == "phase"]
        assert phases == ["prepare", "compile", "acquire", "run", "report"]
        assert sum(event["kind"] == "checkpoint" for event in job.last.events) == 1

    def test_events_keep_their_order(self, service: FakeService, agent: Agent) -> None:
        job = service.job(attempt(service, agent, "talks", lines=3000))
        assert job.state is JobState.SUCCEEDED
        assert job.last.messages("runner") == [f"line {number}" for number in range(3000)]
        sent = [path for _, path in service.requests if path.endswith("/events")]
        assert len(sent) < 300, "events must travel in batches"  # one each 0.1 s at most

    def test_a_runner_that_is_faster_than_the_service_is_held_back_and_loses_nothing(
        self, service: FakeService, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reporter, "BACKLOG_EVENTS", 7)
        job = service.job(attempt(service, agent, "talks", lines=60))
        assert job.state is JobState.SUCCEEDED
        assert job.last.messages("runner") == [f"line {number}" for number in range(60)]

    def test_nothing_is_left_behind(
        self, offspring: Offspring, service: FakeService, settings: AgentSettings
    ) -> None:
        with agent_with(settings) as agent:
            kept = settings.work_dir / "att_of_yesterday"
            kept.mkdir()
            os.utime(kept, (0, 0))
            attempt(service, agent, "completes")
            left = [file.suffix for file in settings.work_dir.iterdir()]
            assert left == [LOCK]  # the agent lives
        assert offspring.alive() == []

    def test_the_runner_gets_its_variables_and_no_secret(
        self,
        service: FakeService,
        settings: AgentSettings,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("IPULSE_TOKEN", "the user's secret")
        monkeypatch.setenv("IPULSE_WORKER_TOKEN_FILE", str(service.token_file))
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "somebody's secret")
        monkeypatch.setenv("IPULSE_CACHE", "/var/cache/ipulse")
        with agent_with(settings) as agent:
            job = service.job(attempt(service, agent, "shows_its_world"))
        world = json.loads(job.last.messages("runner")[0])
        expected = {"PATH", "HOME", "LANG", "IPULSE_CACHE", "PYTHONPATH", "PYTHONUNBUFFERED"}
        expected |= {"PYTHONFAULTHANDLER", "TMPDIR"} & set(world["environment"])
        added_by_python = {"LC_CTYPE"}
        assert set(world["environment"]) - added_by_python == expected
        assert service.token not in json.dumps(world)
        assert world["mode"] == "0o700"
        assert world["group"] == world["pid"]
        assert world["session"] == os.getsid(0)  # the agent's, which is ours here
        # It was started for this job, so that its own start is a part of what the job waited.
        assert world["assignment"].pop("start_seconds") >= world["seconds_before_it"] > 0
        assert len(world["assignment"].pop("spec_key")) == 64
        assert world["assignment"] == {
            "protocol": 1,
            "job_id": job.id,
            "attempt": 1,
            "work_dir": str(settings.work_dir / job.last.id),
            "spec": spec_to_json(parse_spec(job.spec)),  # every default written out
            "checkpoint": None,
            "start_from": None,
            "start_mode": None,
            "ops": None,
        }
        # Standard streams, the events pipe, the listing itself, and of the agent's its lock, which
        # says to others that something of it lives.
        assert len(world["descriptors"]) == 6

    def test_a_job_that_is_held_is_left_alone(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("completes")
        service.job(job_id).state = JobState.RUNNING
        agent.run_job(job_id)
        assert service.job(job_id).attempts == []

    def test_an_unknown_job_is_ignored(self, service: FakeService, agent: Agent) -> None:
        agent.run_job("job_of_another_database")
        assert service.requests == [("POST", "/v1/worker/claims")]


class TestOutput:
    def test_a_flood_is_cut_at_the_quota_with_one_notice(
        self, service: FakeService, settings: AgentSettings
    ) -> None:
        quota = 100_000
        with agent_with(settings, log_quota_bytes=quota) as agent:
            job = service.job(attempt(service, agent, "floods"))
        assert job.state is JobState.SUCCEEDED
        assert job.last.logged("line 0 ")
        assert not job.last.logged("line 199999")
        kept = sum(len(message) for message in job.last.messages("stdout"))
        assert quota / 4 < kept <= quota
        assert len([m for m in job.last.messages("agent") if "quota of 100,000 bytes" in m]) == 1

    def test_a_line_without_end_is_cut_into_pieces(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "prints_one_endless_line"))
        assert job.state is JobState.SUCCEEDED
        lines = job.last.messages("stdout")[1:]
        assert set(map(len, lines)) == {MAX_LINE}
        assert set("".join(lines)) == {"y"}

    def test_what_is_no_text_becomes_text(self, service: FakeService, agent: Agent) -> None:
        job = service.job(attempt(service, agent, "prints_binary"))
        assert job.state is JobState.SUCCEEDED
        assert job.last.messages("stdout") == [
            "imported",
            "nul � invalid �� end",
            "red and bell�",
            "100%",
            "half an ü: ü",
        ]
        assert job.last.messages("stderr") == ["no newline at the end"]

    def test_what_is_printed_before_an_event_stands_before_it(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "prints_before_events"))
        assert job.state is JobState.SUCCEEDED
        order = {message: place for place, message in enumerate(job.last.messages())}
        for number in range(200):
            assert order[f"printed {number}"] < order[f"logged {number}"]

    def test_a_runner_may_close_its_output(self, service: FakeService, agent: Agent) -> None:
        job = service.job(attempt(service, agent, "closes_its_output"))
        assert job.state is JobState.SUCCEEDED


class TestResume:
    def test_the_next_attempt_gets_the_checkpoint(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("shows_its_world")
        service.job(job_id).checkpoint = Artifact("epoch-3.npz", "checkpoint", b"three epochs")
        agent.run_job(job_id)
        job = service.job(job_id)
        assert json.loads(job.last.messages("runner")[0])["checkpoint"] == "three epochs"
        assert job.last.logged("resumes from epoch-3.npz")

    def test_a_damaged_checkpoint_is_logged_and_not_used(
        self, service: FakeService, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job_id = service.submit("shows_its_world")
        service.job(job_id).checkpoint = Artifact("epoch-3.npz", "checkpoint", b"three epochs")
        monkeypatch.setattr(Artifact, "sha256", "0" * 64)
        agent.run_job(job_id)
        monkeypatch.undo()
        job = service.job(job_id)
        assert job.last.logged("epoch-3.npz cannot be downloaded, so training starts again")

    @pytest.mark.parametrize(
        ("status", "code"), [(503, "artifact_store"), (500, "damaged"), (HANG_UP, "")]
    )
    def test_a_checkpoint_that_the_service_cannot_send_is_logged_and_not_used(
        self,
        service: FakeService,
        agent: Agent,
        monkeypatch: pytest.MonkeyPatch,
        status: int,
        code: str,
    ) -> None:
        job_id = service.submit("shows_its_world")
        service.job(job_id).checkpoint = Artifact("epoch-3.npz", "checkpoint", b"three epochs")
        monkeypatch.setattr(retry_policy, "LONGEST_PAUSE", 0.1)
        service.fail("art_checkpoint", status, times=1000)
        service.fault_code = code
        agent.run_job(job_id)
        job = service.job(job_id)
        assert job.last.logged("epoch-3.npz cannot be downloaded, so training starts again")
        assert json.loads(job.last.messages("runner")[0])["assignment"]["checkpoint"] is None

    def test_only_the_newest_of_many_checkpoints_must_arrive(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "checkpoints_often"))
        assert job.state is JobState.SUCCEEDED
        assert job.last.artifact("checkpoint").content == b"epoch 50"
        epochs = [event["epoch"] for event in job.last.events if event["kind"] == "checkpoint"]
        assert epochs == sorted(set(epochs))
        assert epochs[-1] == 50


def test_an_error_of_the_agents_own_leaves_no_thread_behind(
    service: FakeService, agent: Agent, settings: AgentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(supervision: RunnerSupervisor) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(RunnerSupervisor, "run", fail)
    with pytest.raises(ZeroDivisionError):
        agent.run_job(service.submit("completes"))
    for thread in threading.enumerate():
        if thread.name in ("reporter", "uploader", "heartbeat"):
            thread.join(DEADLINE)
            assert not thread.is_alive()
    assert [file.suffix for file in settings.work_dir.iterdir()] == [LOCK]
