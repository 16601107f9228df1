"""An agent as a process, with a real Redis and a service that a test plays."""

from __future__ import annotations

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

import pytest
from celery import Celery

from ipulse.stack.guarded_process import GuardedProcess
from ipulse.stack.program_log import ProgramLog
from ipulse.stack.redis_server import RedisServer
from ipulse_core import messages
from tests.worker.agent.conftest import RUNNERS
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.fake_service import FakeService

QUEUE = messages.queue_of("cpu")


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
            directory=Path(__file__).parents[4],
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


def kill_and_restart(redis: RedisServer) -> None:
    assert redis.process is not None
    os.kill(redis.process.pid, signal.SIGKILL)
    redis.process.wait(DEADLINE)
    redis.stop()
    redis.start()
