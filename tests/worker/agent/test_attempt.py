"""What a user sees of an attempt, whatever its runner does."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from ipulse.events import MAX_LINE
from ipulse.states import JobState
from tests.ipulse.test_guarded_process import Watched
from worker.agent import attempt as attempt_module
from worker.agent import patience, reporter, uploader
from worker.agent.agent import Agent
from worker.agent.lease_record import LOCK
from worker.agent.settings import Settings
from worker.agent.supervision import Supervision

from .conftest import RUNNERS, agent_with, beside
from .fake_service import DEADLINE, HANG_UP, Artifact, FakeService, Refusal
from .offspring import Offspring


def attempt(service: FakeService, agent: Agent, behaviour: str, **options: object) -> str:
    """Submits a job, has the agent look at it, and returns the job's id when that is over."""
    job_id = service.submit(behaviour, **options)
    agent.look_at(job_id)
    return job_id


def logged_pid(service: FakeService, job_id: str, what: str) -> int:
    """The process id in a log line such as `pid 123`, once it is there."""

    def found() -> list[str]:
        attempts = service.job(job_id).attempts
        return [m for a in attempts for m in a.messages("runner") if m.startswith(what)]

    service.wait_for(found)
    return int(found()[-1].split()[1])


def end_lease(agent: Agent) -> None:
    """As if it had been long since the service last renewed it."""
    assert agent._attempt is not None
    agent._attempt._lease.renew(0.0, time.monotonic())


class TestSuccess:
    def test_everything_arrives_and_the_manifest_last(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "completes"))
        assert job.state is JobState.SUCCEEDED
        assert job.verdict == {
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
        self, offspring: Offspring, service: FakeService, agent: Agent, settings: Settings
    ) -> None:
        attempt(service, agent, "completes")
        assert [file.suffix for file in settings.work_dir.iterdir()] == [LOCK]  # the agent lives
        assert offspring.alive() == []

    def test_the_runner_is_told_what_it_needs_and_no_secret(
        self,
        service: FakeService,
        agent: Agent,
        settings: Settings,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("IPULSE_TOKEN", "the user's secret")
        monkeypatch.setenv("IPULSE_WORKER_TOKEN_FILE", str(service.token_file))
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "somebody's secret")
        monkeypatch.setenv("IPULSE_CACHE", "/var/cache/ipulse")
        job = service.job(attempt(service, agent, "shows_its_world"))
        world = json.loads(job.last.messages("runner")[0])
        expected = {"PATH", "HOME", "LANG", "IPULSE_CACHE", "PYTHONPATH", "PYTHONUNBUFFERED"}
        expected |= {"PYTHONFAULTHANDLER", "TMPDIR"} & set(world["environment"])
        added_by_python = {"LC_CTYPE"}
        assert set(world["environment"]) - added_by_python == expected
        assert service.token not in json.dumps(world)
        assert world["mode"] == "0o700"
        assert world["session"] == world["group"] == world["pid"]
        assert world["assignment"] == {
            "protocol": 1,
            "job_id": job.id,
            "attempt": 1,
            "work_dir": str(settings.work_dir / job.last.id),
            "spec": job.spec,
            "checkpoint": None,
        }
        # Standard streams, the events pipe, the listing itself, and of the agent's its lock, which
        # says to others that something of it lives.
        assert len(world["descriptors"]) == 6

    def test_a_job_that_is_held_is_left_alone(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("completes")
        service.job(job_id).state = JobState.RUNNING
        agent.look_at(job_id)
        assert service.job(job_id).attempts == []

    def test_a_job_nobody_knows_is_left_alone(self, service: FakeService, agent: Agent) -> None:
        agent.look_at("job_of_another_database")
        assert service.requests == [("POST", "/v1/worker/claims")]


class TestOutput:
    def test_a_flood_is_cut_at_the_quota_with_one_notice(
        self, service: FakeService, settings: Settings
    ) -> None:
        quota = 100_000
        with agent_with(settings, log_quota_bytes=quota) as agent:
            job = service.job(attempt(service, agent, "floods"))
        assert job.state is JobState.SUCCEEDED
        assert job.last.said("line 0 ")
        assert not job.last.said("line 199999")
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

    def test_a_runner_may_close_its_output(self, service: FakeService, agent: Agent) -> None:
        job = service.job(attempt(service, agent, "closes_its_output"))
        assert job.state is JobState.SUCCEEDED


class TestEndings:
    @pytest.mark.parametrize(
        ("behaviour", "words"),
        [
            ("is_killed", "signal 9 (SIGKILL)"),
            ("crashes", "signal 11 (SIGSEGV)"),
            ("exits_silently", "exited with code 0"),
            ("dies_in_the_middle_of_an_event", "exited with code 0"),
            ("stops_by_another_hand", "not by this agent"),
        ],
    )
    def test_no_verdict_is_a_lost_runner(
        self, service: FakeService, agent: Agent, behaviour: str, words: str
    ) -> None:
        job = service.job(attempt(service, agent, behaviour))
        assert job.verdict["reason"] == "runner_lost"
        assert words in job.verdict["message"]
        assert job.state is JobState.QUEUED, "the next attempt may do better"

    def test_a_crash_leaves_its_traceback_in_the_log(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "crashes"))
        assert job.last.said("about to crash")
        assert job.last.said("Segmentation fault")
        assert job.last.said("in crashes")

    def test_the_runners_own_verdict_is_told(self, service: FakeService, agent: Agent) -> None:
        job = service.job(attempt(service, agent, "diverges"))
        assert job.state is JobState.FAILED
        assert job.verdict == {
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
            ("forgets_the_manifest", "no manifest"),
            ("goes_backwards", "refused an event"),
        ],
    )
    def test_breaking_the_protocol_is_an_error_of_the_runner(
        self, service: FakeService, agent: Agent, behaviour: str, words: str
    ) -> None:
        job = service.job(attempt(service, agent, behaviour))
        assert job.verdict["reason"] == "runner_error"
        assert words in job.verdict["message"]
        assert job.state is JobState.FAILED

    @pytest.mark.parametrize("behaviour", ["names_a_missing_file", "names_a_link"])
    def test_an_artifact_that_cannot_be_stored_fails_the_job_and_keeps_the_manifest_back(
        self, service: FakeService, agent: Agent, behaviour: str
    ) -> None:
        job = service.job(attempt(service, agent, behaviour))
        assert job.verdict["reason"] == "artifact_store"
        assert "report.html" in job.verdict["message"]
        assert [artifact.role for artifact in job.last.artifacts] == ["metrics", "weights"]

    def test_trouble_after_the_verdict_does_not_change_it(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "fails_after_done"))
        assert job.state is JobState.SUCCEEDED

    def test_a_runner_that_does_not_end_after_its_verdict_is_killed(
        self, service: FakeService, settings: Settings
    ) -> None:
        with agent_with(settings, grace_seconds=0.2) as agent:
            job = service.job(attempt(service, agent, "hangs_when_done"))
        assert job.state is JobState.SUCCEEDED
        assert job.last.said("did not end within 0.2 s: killed")

    def test_a_process_that_it_left_behind_is_dead_before_the_verdict(
        self, service: FakeService, agent: Agent
    ) -> None:
        job_id = service.submit("double_forks")
        alive_at_verdict: list[set[str]] = []

        def look(method: str, path: str) -> None:
            if path.endswith("/finish"):  # which the event that names the process may come with
                alive_at_verdict.append({each.name for each in Path("/proc").iterdir()})

        service.faults.append(look)
        agent.look_at(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED
        (pid,) = [m.split()[1] for m in service.job(job_id).last.messages("runner")]
        (alive,) = alive_at_verdict
        assert str(os.getpid()) in alive
        assert pid not in alive

    def test_a_runner_whose_guardian_is_killed_is_lost(
        self, service: FakeService, agent: Agent
    ) -> None:
        job_id = service.submit("ignores_term")
        with beside(lambda: agent.look_at(job_id)):
            runner = Watched(logged_pid(service, job_id, "pid"))
            guardian = psutil.Process(runner.pid).parent()
            assert guardian is not None
            guardian.kill()
        assert runner.ends()
        assert service.job(job_id).verdict["reason"] == "runner_lost"

    def test_a_runner_that_is_never_ready_is_given_up(
        self, service: FakeService, settings: Settings
    ) -> None:
        changes = {"ready_seconds": 0.5, "runner_module": f"{RUNNERS}.never_ready"}
        with agent_with(settings, **changes) as agent:
            job = service.job(attempt(service, agent, "completes"))
        assert job.verdict["reason"] == "runner_lost"
        assert "not ready within 0.5 s" in job.verdict["message"]

    def test_a_runner_that_cannot_import_says_why(
        self, service: FakeService, settings: Settings
    ) -> None:
        with agent_with(settings, runner_module=f"{RUNNERS}.missing_library") as agent:
            job = service.job(attempt(service, agent, "completes"))
        assert job.verdict["reason"] == "runner_lost"
        assert job.last.said("No module named 'no_such_tensorflow'")

    def test_an_interpreter_that_is_gone_is_named(
        self, service: FakeService, settings: Settings
    ) -> None:
        with agent_with(settings, runner_python="/opt/graphcore/bin/python") as agent:
            job = service.job(attempt(service, agent, "completes"))
        assert job.verdict["reason"] == "runner_lost"
        assert "/opt/graphcore/bin/python: No such file" in job.verdict["message"]


class TestCancel:
    def test_is_heard_of_without_waiting_for_a_heartbeat(
        self, tmp_path: Path, settings: Settings
    ) -> None:
        hour = 3600.0
        with FakeService(tmp_path / "token", 2 * hour, heartbeat_seconds=hour) as service:
            job_id = service.submit("trains_until_told")
            changes = {"service_url": service.url, "worker_token": service.token}
            with agent_with(settings, **changes) as agent, beside(lambda: agent.look_at(job_id)):
                logged_pid(service, job_id, "pid")
                service.cancel(job_id)
                service.wait_for(lambda: service.job(job_id).state is JobState.CANCELLED)

    def test_the_runner_may_write_a_checkpoint(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("trains_until_told")
        with beside(lambda: agent.look_at(job_id)):
            logged_pid(service, job_id, "pid")
            service.cancel(job_id)
        job = service.job(job_id)
        assert job.state is JobState.CANCELLED
        assert job.verdict["reason"] == "cancelled_by_user"
        assert job.last.artifact("checkpoint").content == b"weights at the stop"

    def test_one_that_ignores_it_is_killed_with_all_its_descendants(
        self, service: FakeService, settings: Settings
    ) -> None:
        job_id = service.submit("daemonises_and_waits")
        hasty = agent_with(settings, grace_seconds=0.2)
        with hasty as agent, beside(lambda: agent.look_at(job_id)):
            runner = Watched(logged_pid(service, job_id, "pid"))
            daemon = Watched(logged_pid(service, job_id, "daemon"))
            service.cancel(job_id)
        assert runner.ends()
        assert daemon.ends()
        job = service.job(job_id)
        assert job.state is JobState.CANCELLED
        assert "SIGKILL" in job.verdict["message"]
        assert job.last.said("did not end within 0.2 s: killed")

    def test_while_the_runner_still_imports(self, service: FakeService, settings: Settings) -> None:
        job_id = service.submit("completes")
        changes = {"runner_module": f"{RUNNERS}.never_ready", "grace_seconds": 0.2}
        with agent_with(settings, **changes) as agent, beside(lambda: agent.look_at(job_id)):
            service.wait_for(lambda: service.job(job_id).attempts)
            service.wait_for(lambda: service.job(job_id).last.said("importing"))
            service.cancel(job_id)
        assert service.job(job_id).state is JobState.CANCELLED

    def test_just_before_the_runner_is_ready(
        self, service: FakeService, settings: Settings
    ) -> None:
        job_id = service.submit("completes")
        late = agent_with(settings, runner_module=f"{RUNNERS}.ready_too_late", grace_seconds=0.5)
        with late as agent, beside(lambda: agent.look_at(job_id)):
            service.wait_for(lambda: service.job(job_id).attempts)
            service.wait_for(lambda: service.job(job_id).last.said("importing"))
            service.cancel(job_id)
        job = service.job(job_id)
        assert job.state is JobState.CANCELLED
        assert [event["kind"] for event in job.last.events if event["kind"] != "log"] == []

    def test_a_result_that_is_complete_counts(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("completes_when_told")
        with beside(lambda: agent.look_at(job_id)):
            service.wait_for(lambda: service.job(job_id).state is JobState.RUNNING)
            service.cancel(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED


class TestShutdown:
    def test_the_attempt_ends_with_its_checkpoint_and_goes_on_elsewhere(
        self, service: FakeService, agent: Agent
    ) -> None:
        job_id = service.submit("trains_until_told")
        with beside(lambda: agent.look_at(job_id)):
            logged_pid(service, job_id, "pid")
            agent.stop()
        job = service.job(job_id)
        assert job.verdict["reason"] == "worker_stopped"
        assert job.state is JobState.QUEUED
        assert job.checkpoint is not None
        assert job.checkpoint.content == b"weights at the stop"

    def test_a_runner_that_ignores_it_is_killed(
        self, service: FakeService, settings: Settings
    ) -> None:
        job_id = service.submit("ignores_term")
        hasty = agent_with(settings, grace_seconds=0.2)
        with hasty as agent, beside(lambda: agent.look_at(job_id)):
            runner = Watched(logged_pid(service, job_id, "pid"))
            agent.stop()
        assert runner.ends()
        assert service.job(job_id).verdict["reason"] == "worker_stopped"

    def test_a_complete_result_is_not_thrown_away(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("completes_when_told")
        with beside(lambda: agent.look_at(job_id)):
            service.wait_for(lambda: service.job(job_id).state is JobState.RUNNING)
            agent.stop()
        assert service.job(job_id).state is JobState.SUCCEEDED

    def test_it_does_not_wait_for_a_service_that_hangs(
        self, service: FakeService, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attempt_module, "DELIVERY_SECONDS", 0.3)
        hanging, may_answer = threading.Event(), threading.Event()

        def hang(method: str, path: str) -> None:
            if path.endswith("/events") and hanging.is_set():
                service.changed.release()  # heartbeats still get their answer
                may_answer.wait(DEADLINE)
                service.changed.acquire()

        service.faults.append(hang)
        job_id = service.submit("trains_until_told")
        began = 0.0
        with agent_with(settings) as agent, beside(lambda: agent.look_at(job_id)):
            logged_pid(service, job_id, "pid")
            hanging.set()
            began = time.monotonic()
            agent.stop()
        assert time.monotonic() - began < DEADLINE / 2
        may_answer.set()
        assert service.job(job_id).last.verdict is None, "the lease runs out, another goes on"

    def test_a_verdict_that_came_before_stands(
        self, service: FakeService, settings: Settings
    ) -> None:
        job_id = service.submit("diverges_and_hangs")
        hasty = agent_with(settings, grace_seconds=0.5)
        with hasty as agent, beside(lambda: agent.look_at(job_id)):
            service.wait_for(lambda: service.job(job_id).attempts)
            service.wait_for(lambda: service.job(job_id).last.said("said it"))
            agent.stop()
        assert service.job(job_id).verdict["reason"] == "diverged"

    def test_no_other_job_is_begun(self, service: FakeService, agent: Agent) -> None:
        agent.stop()
        agent.look_at(service.submit("completes"))
        assert service.requests == []


class TestResume:
    def test_the_next_attempt_gets_the_checkpoint(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("shows_its_world")
        service.job(job_id).checkpoint = Artifact("epoch-3.npz", "checkpoint", b"three epochs")
        agent.look_at(job_id)
        job = service.job(job_id)
        assert json.loads(job.last.messages("runner")[0])["checkpoint"] == "three epochs"
        assert job.last.said("goes on from epoch-3.npz")

    def test_one_that_is_damaged_is_not_used_and_the_user_is_told(
        self, service: FakeService, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job_id = service.submit("shows_its_world")
        service.job(job_id).checkpoint = Artifact("epoch-3.npz", "checkpoint", b"three epochs")
        monkeypatch.setattr(Artifact, "sha256", "0" * 64)
        agent.look_at(job_id)
        monkeypatch.undo()
        job = service.job(job_id)
        assert job.last.said("epoch-3.npz cannot be had, so training starts again")

    def test_only_the_newest_of_many_checkpoints_must_arrive(
        self, service: FakeService, agent: Agent
    ) -> None:
        job = service.job(attempt(service, agent, "checkpoints_often"))
        assert job.state is JobState.SUCCEEDED
        assert job.last.artifact("checkpoint").content == b"epoch 50"
        epochs = [event["epoch"] for event in job.last.events if event["kind"] == "checkpoint"]
        assert epochs == sorted(set(epochs))
        assert epochs[-1] == 50


class TestTrouble:
    """With the service: no verdict on the job is ever made of it."""

    def test_errors_of_the_service_are_waited_out(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("completes")
        for path in ("claims", "events", "artifacts/weights", "finish"):
            service.fail(path, 503)
            service.fail(path, 500)
        agent.look_at(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED

    @pytest.mark.parametrize("limit", [1, uploader.MANIFEST_BYTES])
    def test_a_manifest_that_cannot_travel_with_the_end_goes_by_itself(
        self,
        service: FakeService,
        agent: Agent,
        monkeypatch: pytest.MonkeyPatch,
        limit: int,
    ) -> None:
        """Because it is too large, or because the service refuses something of that request."""
        monkeypatch.setattr(uploader, "MANIFEST_BYTES", limit)
        job_id = service.submit("completes")
        if limit > 1:
            service.fail("finish", 422)
        agent.look_at(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED
        assert sum("artifacts/manifest" in path for _, path in service.requests) == 1

    def test_a_store_that_cannot_take_the_manifest_fails_the_job_in_words(
        self, service: FakeService, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(patience, "FIRST_PAUSE", 0.0)
        service.refuse_manifests = True
        job = service.job(attempt(service, agent, "completes"))
        assert job.verdict["reason"] == "artifact_store"
        assert job.verdict["message"].startswith("manifest.json could not be stored: the disk")

    def test_answers_that_get_lost_do_no_harm(self, service: FakeService, agent: Agent) -> None:
        """The service has done what was asked, and the agent must ask again."""
        job_id = service.submit("talks", lines=50)
        for path in ("events", "events", "artifacts/metrics", "finish"):
            service.lose_answer(path)
        agent.look_at(job_id)
        job = service.job(job_id)
        assert job.state is JobState.SUCCEEDED
        assert job.last.messages("runner") == [f"line {number}" for number in range(50)]

    def test_a_short_absence_is_waited_out(self, service: FakeService, agent: Agent) -> None:
        job_id = service.submit("trains_until_told")
        with beside(lambda: agent.look_at(job_id)):
            logged_pid(service, job_id, "pid")
            port = service.hang_up()
            agent.stop()
            time.sleep(0.3)
            service.listen(port)
        assert service.job(job_id).verdict["reason"] == "worker_stopped"

    def test_an_absence_longer_than_the_lease_ends_the_runner(
        self, tmp_path: Path, settings: Settings
    ) -> None:
        with FakeService(tmp_path / "token") as service:
            job_id = service.submit("ignores_term")
            changes = {"service_url": service.url, "worker_token": service.token}
            with agent_with(settings, **changes) as agent, beside(lambda: agent.look_at(job_id)):
                runner = Watched(logged_pid(service, job_id, "pid"))
                service.hang_up()
                end_lease(agent)
                assert runner.ends()
            assert service.job(job_id).last.verdict is None
            # Its results may be nowhere else, so they are kept for whoever looks.
            assert [path.name for path in settings.work_dir.iterdir()] == [
                service.job(job_id).last.id
            ]
            service.listen(0)

    def test_a_superseded_attempt_ends_at_once_and_says_nothing_more(
        self, service: FakeService, settings: Settings
    ) -> None:
        job_id = service.submit("ignores_term")
        with agent_with(settings) as agent, beside(lambda: agent.look_at(job_id)):
            runner = Watched(logged_pid(service, job_id, "pid"))
            service.expire(job_id)
            assert runner.ends()
        assert service.job(job_id).last.verdict is None
        assert not any(path.endswith("/finish") for _, path in service.requests)
        assert list(settings.work_dir.iterdir()) == []

    def test_an_agent_that_was_stopped_past_its_lease_asks_nobody(
        self, tmp_path: Path, settings: Settings
    ) -> None:
        """As after SIGSTOP and SIGCONT: heartbeats that come too late are not sent."""
        # Long enough for the runner to begin on a busy machine.
        with FakeService(tmp_path / "token", lease_seconds=4.0, heartbeat_seconds=30.0) as service:
            job_id = service.submit("ignores_term")
            changes = {"service_url": service.url, "worker_token": service.token}
            with agent_with(settings, **changes) as agent, beside(lambda: agent.look_at(job_id)):
                runner = Watched(logged_pid(service, job_id, "pid"))
                assert runner.ends()
            assert not any(path.endswith("/heartbeat") for _, path in service.requests)
            assert not any(path.endswith("/finish") for _, path in service.requests)

    def test_a_wrong_token_is_said_once_and_not_repeated(
        self, service: FakeService, settings: Settings, caplog: pytest.LogCaptureFixture
    ) -> None:
        with agent_with(settings, worker_token="not the one" * 4) as agent:
            agent.look_at(service.submit("completes"))
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
        agent.look_at(service.submit("completes"))
        [refused] = [line for line in caplog.records if line.message == "claim_failed"]
        assert refused.why == "upgrade the agent"  # type: ignore[attr-defined]  # an extra
        assert agent.quarantine.usable == ()
        assert agent.quarantine.seconds_left < float("inf"), "it asks again later"

    def test_a_service_that_is_not_there_does_not_end_the_agent(
        self, service: FakeService, agent: Agent
    ) -> None:
        job_id = service.submit("completes")
        service.fail("claims", HANG_UP, times=100)
        agent.look_at(job_id)
        service.faults.clear()
        agent.look_at(job_id)
        assert service.job(job_id).state is JobState.SUCCEEDED


def test_an_error_of_the_agents_own_leaves_no_thread_behind(
    service: FakeService, agent: Agent, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(supervision: Supervision) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Supervision, "run", fail)
    with pytest.raises(ZeroDivisionError):
        agent.look_at(service.submit("completes"))
    for thread in threading.enumerate():
        if thread.name in ("reporter", "uploader", "heartbeat"):
            thread.join(DEADLINE)
            assert not thread.is_alive()
    assert [file.suffix for file in settings.work_dir.iterdir()] == [LOCK]
