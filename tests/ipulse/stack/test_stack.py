"""The whole stack with the real service and a real Redis; only the training is scripted."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse.stack.tls import self_signed
from ipulse_core.errors import Conflict
from ipulse_core.states import JobState
from tests.ipulse.stack.guarded import DEADLINE

from .stack_jobs import (
    ENVIRONMENT,
    runner_of,
    submit,
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Longer than the path of a socket may be, and no URL as it stands."""
    return tmp_path_factory.mktemp("stack") / ("long" * 30) / "-a büro %41 [#1]?"


@pytest.fixture(scope="module")
def stack(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """It speaks TLS, with its agents, too; the stacks of other tests do without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPULSE_TOKEN", "a-token-for-another-service")
        made = self_signed(tmp_path_factory.mktemp("made"))
        stack = Stack(home, environment=ENVIRONMENT, certificate=made)
        stack.start()
    yield stack
    stack.stop()


@pytest.fixture
def client(stack: Stack, home: Path) -> Iterator[Connection]:
    with Connection(token_file=stack.token_path, home=home) as client:
        assert client.url.startswith("https://")
        yield client


class TestRunning:
    def test_a_job_goes_all_the_way(self, client: Connection) -> None:
        job = client.job(submit(client, "completes")).wait(timeout=DEADLINE, check=False)
        assert job.state is JobState.SUCCEEDED
        assert job.summary == {"test_accuracy": 0.97}
        roles = {artifact.role for artifact in client.job(job.id).artifacts()}
        assert {"metrics", "weights", "manifest"} <= roles

    def test_the_home_has_the_address_and_the_token(self, stack: Stack, home: Path) -> None:
        announced = json.loads((home / "server.json").read_text())
        assert announced == {"url": stack.url, "pid": stack.processes["service"].pid}
        assert stack.token_path == home / "token"
        assert (home / "ipulse.db").is_file()
        assert {"redis.log", "service.log", "agent.log"} <= {
            path.name for path in (home / "logs").iterdir()
        }

    def test_the_processes_run_under_their_names(self, stack: Stack) -> None:
        assert list(stack.processes) == ["redis", "service", "agent"]
        modules = {"service": "ipulse_service", "agent": "ipulse_worker.agent"}
        for name, module in modules.items():
            command = Path(f"/proc/{stack.processes[name].pid}/cmdline").read_bytes().split(b"\0")
            assert module.encode() in command

    def test_a_second_stack_cannot_have_the_home(self, stack: Stack, home: Path) -> None:
        with pytest.raises(Conflict, match=f"process {os.getpid()}"):
            Stack(home).start()

    def test_a_cancel_reaches_the_runner(self, client: Connection) -> None:
        job_id = submit(client, "trains_until_released")
        runner = runner_of(client, job_id)
        client.job(job_id).cancel()
        assert client.job(job_id).wait(timeout=DEADLINE, check=False).state is JobState.CANCELLED
        assert runner.ends()

    def test_the_agents_log_is_json_line_by_line(self, client: Connection, home: Path) -> None:
        client.job(submit(client, "completes")).wait(timeout=DEADLINE, check=False)
        log = (home / "logs" / "agent.log").read_text()
        for line in log.rpartition("\n")[0].splitlines():  # it may be writing the next
            assert "action" in json.loads(line)

    def test_processes_do_not_inherit_the_users_token(self, stack: Stack) -> None:
        for process in stack.processes.values():
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
            assert environment
            assert b"a-token-for-another-service" not in environment


class TestSuddenDeaths:
    def test_of_the_runner(self, client: Connection) -> None:
        job_id = submit(client, "trains_until_released")
        os.kill(runner_of(client, job_id).pid, signal.SIGKILL)
        runner_of(client, job_id, attempt=2)
        job = client.job(job_id)
        assert [attempt["reason"] for attempt in job.json["attempts"]] == ["runner_lost", None]
        client.job(job_id).cancel()
        client.job(job_id).wait(timeout=DEADLINE, check=False)

    def test_of_the_agent(self, stack: Stack, client: Connection) -> None:
        job_id = submit(client, "trains_until_released")
        runner = runner_of(client, job_id)
        os.kill(stack.processes["agent"].pid, signal.SIGKILL)
        assert runner.ends()
        stack.restart_agent()
        runner_of(client, job_id, attempt=2)
        job = client.job(job_id)
        assert [attempt["reason"] for attempt in job.json["attempts"]] == ["worker_lost", None]
        client.job(job_id).cancel()
        client.job(job_id).wait(timeout=DEADLINE, check=False)

    def test_of_redis(self, stack: Stack, client: Connection) -> None:
        waiting = submit(client, "trains_until_released")
        runner_of(client, waiting)
        os.kill(stack.processes["redis"].pid, signal.SIGKILL)
        stack.restart_redis()
        following = submit(client, "completes")
        client.job(waiting).cancel()
        assert client.job(waiting).wait(timeout=DEADLINE, check=False).state is JobState.CANCELLED
        assert client.job(following).wait(timeout=DEADLINE, check=False).state is JobState.SUCCEEDED

    def test_of_the_service(self, stack: Stack, client: Connection) -> None:
        """Restarts the service within the lease, so that the attempt continues."""
        job_id = submit(client, "trains_until_released")
        runner_of(client, job_id)
        os.kill(stack.processes["service"].pid, signal.SIGKILL)
        stack.restart_service()
        client.job(job_id).cancel()
        job = client.job(job_id).wait(timeout=DEADLINE, check=False)
        assert job.state is JobState.CANCELLED
        assert [attempt["reason"] for attempt in job.json["attempts"]] == ["cancelled_by_user"]
