"""The whole stack with the real service and a real Redis; only the training is scripted."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.client import Client, JobEvent
from ipulse.stack.stack import Stack
from ipulse.stack.tls import self_signed
from ipulse_core.errors import Conflict, Unavailable
from ipulse_core.states import JobState
from tests.ipulse.stack.guarded import DEADLINE, Watched
from tests.service.conditions import eventually

SOURCE = Path(__file__).parents[3]
ENVIRONMENT = {
    "IPULSE_RUNNER_MODULE": "tests.worker.agent.runners.scripted",
    # Longer than anything takes that is back within a lease, on a busy machine too.
    "IPULSE_LEASE_SECONDS": "60",
    "IPULSE_HEARTBEAT_SECONDS": "0.3",
    "IPULSE_RETRY_SECONDS": "0",
    "IPULSE_RESCAN_SECONDS": "0.5",
}


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
def client(stack: Stack, home: Path) -> Iterator[Client]:
    with Client(token_file=stack.token_path, home=home) as client:
        assert client.url.startswith("https://")
        yield client


def submit(client: Client, behaviour: str) -> str:
    spec = {
        "version": 1,
        "network": {"layers": [{"neurons": 8}]},
        "metadata": {"behaviour": behaviour},
    }
    return client.submit(spec).id


def states(client: Client) -> dict[str, str]:
    return {agent.name: agent.state for agent in client.agents()}


def follow_until(client: Client, job_id: str, text: str, attempt: int = 1) -> JobEvent:
    """The first log line of the attempt that begins so."""
    for event in client.watch(job_id):
        is_meant = event.kind == "log" and event.json["attempt"] == attempt
        if is_meant and event.json["message"].startswith(text):
            return event
    raise AssertionError(f"the job ended without {text!r}")


def runner_of(client: Client, job_id: str, attempt: int = 1) -> Watched:
    return Watched(int(follow_until(client, job_id, "pid", attempt).json["message"].split()[1]))


class TestRunning:
    def test_a_job_goes_all_the_way(self, client: Client) -> None:
        job = client.wait(submit(client, "completes"), timeout=DEADLINE)
        assert job.state is JobState.SUCCEEDED
        assert job.summary == {"test_accuracy": 0.97}
        roles = {artifact.role for artifact in client.artifacts(job.id)}
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

    def test_a_cancel_reaches_the_runner(self, client: Client) -> None:
        job_id = submit(client, "trains_until_released")
        runner = runner_of(client, job_id)
        client.cancel(job_id)
        assert client.wait(job_id, timeout=DEADLINE).state is JobState.CANCELLED
        assert runner.ends()

    def test_the_agents_log_is_json_line_by_line(self, client: Client, home: Path) -> None:
        client.wait(submit(client, "completes"), timeout=DEADLINE)
        log = (home / "logs" / "agent.log").read_text()
        for line in log.rpartition("\n")[0].splitlines():  # it may be writing the next
            assert "action" in json.loads(line)

    def test_processes_do_not_inherit_the_users_token(self, stack: Stack) -> None:
        for process in stack.processes.values():
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
            assert environment
            assert b"a-token-for-another-service" not in environment


class TestSuddenDeaths:
    def test_of_the_runner(self, client: Client) -> None:
        job_id = submit(client, "trains_until_released")
        os.kill(runner_of(client, job_id).pid, signal.SIGKILL)
        runner_of(client, job_id, attempt=2)
        job = client.get(job_id)
        assert [attempt["reason"] for attempt in job.json["attempts"]] == ["runner_lost", None]
        client.cancel(job_id)
        client.wait(job_id, timeout=DEADLINE)

    def test_of_the_agent(self, stack: Stack, client: Client) -> None:
        job_id = submit(client, "trains_until_released")
        runner = runner_of(client, job_id)
        os.kill(stack.processes["agent"].pid, signal.SIGKILL)
        assert runner.ends()
        stack.restart_agent()
        runner_of(client, job_id, attempt=2)
        job = client.get(job_id)
        assert [attempt["reason"] for attempt in job.json["attempts"]] == ["worker_lost", None]
        client.cancel(job_id)
        client.wait(job_id, timeout=DEADLINE)

    def test_of_redis(self, stack: Stack, client: Client) -> None:
        waiting = submit(client, "trains_until_released")
        runner_of(client, waiting)
        os.kill(stack.processes["redis"].pid, signal.SIGKILL)
        stack.restart_redis()
        following = submit(client, "completes")
        client.cancel(waiting)
        assert client.wait(waiting, timeout=DEADLINE).state is JobState.CANCELLED
        assert client.wait(following, timeout=DEADLINE).state is JobState.SUCCEEDED

    def test_of_the_service(self, stack: Stack, client: Client) -> None:
        """Restarts the service within the lease, so that the attempt continues."""
        job_id = submit(client, "trains_until_released")
        runner_of(client, job_id)
        os.kill(stack.processes["service"].pid, signal.SIGKILL)
        stack.restart_service()
        client.cancel(job_id)
        job = client.wait(job_id, timeout=DEADLINE)
        assert job.state is JobState.CANCELLED
        assert [attempt["reason"] for attempt in job.json["attempts"]] == ["cancelled_by_user"]


class TestStopping:
    def test_a_stopped_job_resumes_in_the_next_run(self, tmp_path: Path) -> None:
        stack = Stack(tmp_path / "home", environment=ENVIRONMENT)
        stack.start()
        processes = [Watched(process.pid) for process in stack.processes.values()]
        with Client(stack.url, token_file=stack.token_path) as client:
            job_id = submit(client, "trains_until_released")
            runner = runner_of(client, job_id)
        stack.stop()
        assert runner.ends()
        assert all(process.ends() for process in processes)
        assert not (tmp_path / "home" / "server.json").exists()
        assert stack.processes == {}
        with stack, Client(stack.url, token_file=stack.token_path) as client:
            runner_of(client, job_id, attempt=2)
            job = client.get(job_id)
            assert [attempt["reason"] for attempt in job.json["attempts"]] == [
                "worker_stopped",
                None,
            ]
            follow_until(client, job_id, "Attempt 2 resumes from checkpoint", attempt=2)

    def test_its_agents_sign_off_and_are_replaced_in_the_next_run(self, tmp_path: Path) -> None:
        stack = Stack(tmp_path / "home", environment=ENVIRONMENT)
        names = []
        for _ in range(2):
            with stack, Client(stack.url, token_file=stack.token_path) as client:
                eventually(lambda client=client: "idle" in states(client).values())
                assert list(states(client).values()) == ["idle"]
                names += states(client)
        assert len(set(names)) == 2

    def test_it_may_be_stopped_twice_and_before_it_was_started(self, tmp_path: Path) -> None:
        stack = Stack(tmp_path / "home")
        stack.stop()
        stack.stop()
        with pytest.raises(Unavailable, match="not running"):
            _ = stack.url

    def test_nothing_outlives_a_killed_starter(self, tmp_path: Path) -> None:
        with stack_in_another_process(tmp_path / "home", "time.sleep(600)") as starter:
            processes = [Watched(pid) for pid in pids_printed_by(starter)]
            assert len(processes) == 3
            starter.kill()
        assert all(process.ends() for process in processes)


class TestWaiting:
    def test_ends_with_a_signal(self, tmp_path: Path) -> None:
        with stack_in_another_process(tmp_path / "home", "stack.wait()") as starter:
            processes = [Watched(pid) for pid in pids_printed_by(starter)]
            wait_until_caught(starter.pid, signal.SIGTERM)
            starter.terminate()
            assert starter.wait(DEADLINE) == 0
        assert all(process.ends() for process in processes)

    def test_whatever_ends_is_started_again(self, tmp_path: Path) -> None:
        home = tmp_path / "home"
        with stack_in_another_process(home, "stack.wait(print)") as starter:
            pids = pids_printed_by(starter)
            wait_until_caught(starter.pid, signal.SIGTERM)
            with Client(json.loads((home / "server.json").read_text())["url"], home=home) as client:
                before = submit(client, "trains_until_released")
                runner_of(client, before)
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                runner_of(client, before, attempt=2)
                client.cancel(before)
                after = submit(client, "completes")
                assert client.wait(before, timeout=DEADLINE).state is JobState.CANCELLED
                assert client.wait(after, timeout=DEADLINE).state is JobState.SUCCEEDED
            starter.terminate()
            assert starter.stdout is not None
            report = starter.stdout.read()
            assert starter.wait(DEADLINE) == 0
        for name in ("Redis server", "service", "agent"):
            assert f"{name} has ended (signal 9)" in report

    def test_an_agent_that_ends_disturbs_nothing_else(self, tmp_path: Path) -> None:
        with stack_in_another_process(tmp_path / "home", "stack.wait(print)") as starter:
            redis, service, agent = (Watched(pid) for pid in pids_printed_by(starter))
            wait_until_caught(starter.pid, signal.SIGTERM)
            os.kill(agent.pid, signal.SIGKILL)
            assert starter.stdout is not None
            assert "agent has ended" in starter.stdout.readline()
            for other in (redis, service):
                assert not select.select([other.descriptor], [], [], 0)[0]
            starter.send_signal(signal.SIGINT)
            assert starter.wait(DEADLINE) == 0
        assert all(process.ends() for process in (redis, service, agent))


class TestNotStarting:
    def test_a_port_in_use_is_an_error_and_leaves_no_process(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            stack = Stack(tmp_path / "home", port=taken.getsockname()[1])
            with pytest.raises(Unavailable, match="ddress already in use"):
                stack.start()
        assert stack.processes == {}

    def test_an_agent_that_cannot_start_is_an_error_with_its_log(self, tmp_path: Path) -> None:
        stack = Stack(tmp_path / "home", environment={"IPULSE_RUNNER_PYTHON": "/no/python"})
        with pytest.raises(Unavailable, match="the agent has ended") as caught:
            stack.start()
        assert "/no/python cannot be executed" in str(caught.value)
        assert stack.processes == {}

    def test_remote_access_needs_an_option(self, tmp_path: Path) -> None:
        with pytest.raises(Unavailable, match="IPULSE_ALLOW_REMOTE"):
            Stack(tmp_path / "home", host="0.0.0.0").start()  # noqa: S104 - refused is the point


class TestSizes:
    def test_two_agents_work_at_once_and_all_addresses_are_reached_by_one(
        self, tmp_path: Path
    ) -> None:
        with Stack(
            tmp_path / "home",
            host="0.0.0.0",  # noqa: S104 - the test is about it
            allow_remote=True,
            agents=2,
            environment=ENVIRONMENT,
        ) as stack:
            assert list(stack.processes) == ["redis", "service", "agent", "agent-2"]
            assert stack.url.startswith("http://127.0.0.1:")
            with Client(stack.url, token_file=stack.token_path) as client:
                jobs = [submit(client, "trains_until_released") for _ in range(2)]
                for job_id in jobs:
                    runner_of(client, job_id)
                assert [client.get(job_id).state for job_id in jobs] == [JobState.RUNNING] * 2


def stack_in_another_process(home: Path, then: str) -> subprocess.Popen[str]:
    code = f"""
        import time
        from ipulse.stack.stack import Stack
        with Stack({str(home)!r}, environment={ENVIRONMENT!r}) as stack:
            print(*(process.pid for process in stack.processes.values()), flush=True)
            {then}
        """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=SOURCE,
    )


def pids_printed_by(starter: subprocess.Popen[str]) -> list[int]:
    assert starter.stdout is not None
    return [int(pid) for pid in starter.stdout.readline().split()]


def wait_until_caught(pid: int, number: signal.Signals) -> None:
    """Until then the signal would end the process before it could be asked anything."""
    while True:
        status = Path(f"/proc/{pid}/status").read_text()
        caught = int(status.split("SigCgt:")[1].split()[0], 16)
        if caught & 1 << (number - 1):
            return
        time.sleep(0.01)
