"""The agent as a process (`python -m ipulse_worker.agent`), with a real Redis and signals."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from celery import Celery

from ipulse.stack.guarded_process import GuardedProcess
from ipulse.stack.program_log import ProgramLog
from ipulse.stack.redis_server import RedisServer
from ipulse_core import messages
from ipulse_core.states import JobState
from ipulse_worker.agent import niceness
from tests.ipulse.stack.guarded import Watched
from tests.worker.disks import fill, small_disk

from .attempts import logged_pid
from .conftest import RUNNERS
from .fake_rules import DEADLINE
from .fake_service import FakeService

QUEUE = messages.queue_of("cpu")

# Messages that anyone with access to the broker could send.
NO_MESSAGES = [
    b"\x80\x04 no JSON",
    b"[1, 2]",
    b'{"no": "message"}',
    b"[" * 100_000,
    json.dumps(
        {
            "body": "not base64",
            "headers": {"task": messages.TASK, "id": "x"},
            "content-type": "application/json",
            "content-encoding": "utf-8",
            "properties": {"delivery_tag": "1", "body_encoding": "base64", "delivery_info": {}},
        }
    ).encode(),
    *(
        json.dumps(
            {
                "body": base64.b64encode(body).decode(),
                "headers": {"task": messages.TASK, "id": "x"},
                "content-type": "application/json",
                "content-encoding": "utf-8",
                "properties": {"delivery_tag": "1", "body_encoding": "base64", "delivery_info": {}},
            }
        ).encode()
        for body in (b'[["x"], {}, 5]', b'[["x"], [], {}]', b'[["x"], {}, {"chain": [1]}]')
    ),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeService]:
    with FakeService(tmp_path_factory.mktemp("service") / "worker-token") as service:
        yield service


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory(prefix="ipulse-agent-") as directory:
        server = RedisServer(Path(directory) / "redis", ProgramLog(Path(directory) / "redis.log"))
        server.start()
        yield server
        server.stop()


class AgentProcess:
    """A running agent and its log."""

    def __init__(
        self, service: FakeService, redis: RedisServer, work_dir: Path, **more: str
    ) -> None:
        ready, say_ready = os.pipe()
        self.process = GuardedProcess(
            [sys.executable, "-m", "ipulse_worker.agent"],
            environment={
                "PATH": os.environ["PATH"],
                "IPULSE_SERVICE_URL": service.url,
                "IPULSE_WORKER_TOKEN_FILE": str(service.token_file),
                "IPULSE_BROKER_URL": redis.url,
                "IPULSE_WORK_DIR": str(work_dir),
                "IPULSE_RUNNER_MODULE": f"{RUNNERS}.scripted",
                "IPULSE_READY_FD": str(say_ready),
                **more,
            },
            directory=Path(__file__).parents[3],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(say_ready,),
        )
        os.close(say_ready)
        self.lines: list[dict[str, Any]] = []
        self.changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        with os.fdopen(ready, "rb") as announcement:
            self.is_ready = announcement.read() == b"ready\n"

    def _read(self) -> None:
        assert self.process.stderr is not None
        with os.fdopen(os.dup(self.process.stderr.fileno()), "rb") as lines:
            for line in lines:
                with self.changed:
                    self.lines.append(json.loads(line))  # every line is JSON, or this thread fails
                    self.changed.notify_all()

    def wait_for_action(self, action: str, times: int = 1) -> None:
        self._wait_for(lambda: self.count(action) >= times)

    def wait_for_end_of(self, job_id: str) -> None:
        """Wait until it has logged the end of its attempt at the job."""
        self._wait_for(
            lambda: any(
                line["action"] == "attempt_ended" and line["job"] == job_id for line in self.lines
            )
        )

    def _wait_for(self, holds: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(holds, DEADLINE), self.lines

    def count(self, action: str) -> int:
        return sum(line["action"].startswith(action) for line in self.lines)

    def stop(self) -> int:
        """Wait for the end and all log lines; return the exit code."""
        self.process.terminate()
        exit_code = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        return exit_code


@contextmanager
def agent_process(
    service: FakeService, redis: RedisServer, work_dir: Path, **more: str
) -> Iterator[AgentProcess]:
    agent = AgentProcess(service, redis, work_dir, **more)
    try:
        yield agent
    finally:
        with agent.process:
            pass
        agent._reader.join(DEADLINE)


@pytest.fixture
def agent(service: FakeService, redis: RedisServer, tmp_path: Path) -> Iterator[AgentProcess]:
    with agent_process(service, redis, tmp_path / "work") as agent:
        assert agent.is_ready
        yield agent


@pytest.fixture(scope="class")
def lasting_agent(
    service: FakeService, redis: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AgentProcess]:
    """One agent for all tests of a class, which do not change it."""
    with agent_process(service, redis, tmp_path_factory.mktemp("work")) as agent:
        assert agent.is_ready
        yield agent
        assert agent.stop() == 0


def test_its_niceness_holds_for_its_session_and_its_runners(
    service: FakeService, redis: RedisServer, tmp_path: Path
) -> None:
    with agent_process(service, redis, tmp_path / "work", IPULSE_NICE="7") as agent:
        assert agent.is_ready
        pid, nice = agent.process.pid, os.nice(0) + 7
        assert os.getpriority(os.PRIO_PROCESS, pid) == nice
        if niceness.GROUP.exists():
            assert f"nice {nice}\n" in Path(f"/proc/{pid}/autogroup").read_text()
        below = psutil.Process(pid).children(recursive=True)
        assert below, "the guardian of the first runner, at least"
        for process in below:
            assert os.getpriority(os.PRIO_PROCESS, process.pid) == nice
            assert os.getsid(process.pid) == pid
        assert agent.stop() == 0


def publish(redis: RedisServer, *args: Any, task: str = messages.TASK, **options: Any) -> None:
    """Send a message as the service does."""
    options.setdefault("queue", QUEUE)
    with Celery(broker=redis.url, set_as_current=False) as celery:
        celery.send_task(task, args=args, ignore_result=True, **options)


@contextmanager
def client_of(redis: RedisServer) -> Iterator[Any]:
    """Return the plain Redis client that Celery uses."""
    celery = Celery(broker=redis.url, set_as_current=False)
    with celery.connection_for_read() as connection:
        yield connection.default_channel.client


def test_wake_ups_for_a_device_in_quarantine_are_left_to_others(
    service: FakeService, redis: RedisServer, agent: AgentProcess, tmp_path: Path
) -> None:
    broken = service.submit("ends_with", reason="unrecoverable")
    publish(redis, broken)
    agent.wait_for_action("attempt_ended")
    lines = service.job(broken).last.messages("agent")
    assert any("does not use its cpu until it is restarted" in line for line in lines)
    job_id = service.submit("completes")
    publish(redis, job_id, queue=messages.queue_of("emulator"))  # of the same agent
    publish(redis, job_id)
    agent.wait_for_action("nothing_to_do")
    with client_of(redis) as client:
        assert client.llen(QUEUE) == 1
    assert service.job(job_id).attempts == []
    with agent_process(service, redis, tmp_path / "other"):
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)


def test_wake_ups_of_a_machine_without_room_are_left_to_others(
    service: FakeService, redis: RedisServer, tmp_path: Path
) -> None:
    """An idle agent finds out by itself that its disk is full, and that it has room again."""
    with small_disk(tmp_path / "disk", "size=64m,mode=0700") as disk, agent_process(
        service, redis, disk
    ) as agent:
        filler = fill(disk)
        agent.wait_for_action("takes_no_jobs")
        agent.wait_for_action("queue_left_to_others", times=2)  # cpu and emulator
        job_id = service.submit("completes")
        publish(redis, job_id)  # may still be received by a request that was on its way
        publish(redis, job_id)
        with client_of(redis) as client:
            assert client.llen(QUEUE) in (1, 2)
        assert service.job(job_id).attempts == []
        filler.unlink()
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)
        agent.wait_for_action("takes_jobs_again")
        assert agent.stop() == 0


class TestMessages:
    def test_a_job_id_is_all_it_takes(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        job_id = service.submit("completes")
        publish(redis, job_id)
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)

    def test_the_message_is_gone_while_the_job_runs_and_the_next_one_waits_for_any_agent(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess, tmp_path: Path
    ) -> None:
        first, second = service.submit("trains_until_released"), service.submit("completes")
        publish(redis, first)
        logged_pid(service, first, "pid")
        with client_of(redis) as client:
            assert client.hlen("unacked") == 0
            publish(redis, second)
            assert client.llen(QUEUE) == 1
        with agent_process(service, redis, tmp_path / "work"):
            service.wait_for(lambda: service.job(second).state is JobState.SUCCEEDED)
        service.cancel(first)
        service.wait_for(lambda: service.job(first).state is JobState.CANCELLED)

    def test_the_same_message_ten_times_is_one_attempt(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        job_id = service.submit("completes")
        before = lasting_agent.count("nothing_to_do")
        for _ in range(10):
            publish(redis, job_id)
        lasting_agent.wait_for_action("nothing_to_do", times=before + 9)
        assert len(service.job(job_id).attempts) == 1

    def test_messages_of_others_are_dropped_and_the_next_is_taken(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        publish(redis, "x" * 1_000_000)
        publish(redis, task="somebody.elses.task")
        publish(redis, task="celery.chain")
        publish(redis, "job_1", serializer="pickle")
        with client_of(redis) as client:
            for junk in NO_MESSAGES:
                client.lpush(QUEUE, junk)
        job_id = service.submit("completes")
        publish(redis, job_id)
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)
        lasting_agent.wait_for_action("message_rejected")
        assert lasting_agent.process.poll() is None

    def test_no_secret_is_logged(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        job_id = service.submit("completes")
        publish(redis, job_id)
        lasting_agent.wait_for_end_of(job_id)
        logged = json.dumps(lasting_agent.lines)
        assert job_id in logged
        assert service.token not in logged
        assert service.job(job_id).last.fence not in logged


class TestBroker:
    def test_it_reconnects_after_redis_was_killed(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        """Kill Redis several times, also right after a job.

        An acknowledgement that fails with the broker must not count as an unfinished message.
        """
        job_ids = [service.submit("completes") for _ in range(4)]
        for job_id in job_ids:
            kill_and_restart(redis)
            publish(redis, job_id)
            lasting_agent.wait_for_end_of(job_id)
        assert {service.job(job_id).state for job_id in job_ids} == {JobState.SUCCEEDED}

    def test_a_running_job_is_not_affected(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        job_id = service.submit("completes_when_released")
        publish(redis, job_id)
        service.wait_for(lambda: service.job(job_id).state is JobState.RUNNING)
        kill_and_restart(redis)
        service.cancel(job_id)  # the scripted runner completes when it is stopped
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)
        following = service.submit("completes")
        publish(redis, following)
        service.wait_for(lambda: service.job(following).state is JobState.SUCCEEDED)

    def test_an_error_that_redis_answers_is_waited_out(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        lost = "consumer: Connection to broker lost"
        before = lasting_agent.count(lost)
        with client_of(redis) as client:
            client.set(QUEUE, "not a list")
            lasting_agent.wait_for_action(lost, times=before + 2)
            client.delete(QUEUE)
        job_id = service.submit("completes")
        publish(redis, job_id)
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)

    def test_it_may_start_before_redis(
        self, service: FakeService, redis: RedisServer, tmp_path: Path
    ) -> None:
        redis.stop()
        late = threading.Timer(1.0, redis.start)
        late.start()
        with agent_process(service, redis, tmp_path / "work") as agent:
            late.join()
            assert agent.is_ready


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
            agent.wait_for_action("agent_not_started")
            why = agent.lines[-1]["why"]
        assert "IPULSE_WARM" in why
        assert "/no/python" in why


def kill_and_restart(redis: RedisServer) -> None:
    assert redis.process is not None
    os.kill(redis.process.pid, signal.SIGKILL)
    redis.process.wait(DEADLINE)
    redis.stop()
    redis.start()
