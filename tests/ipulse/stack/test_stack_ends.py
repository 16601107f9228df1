"""The end of a stack: by a signal, by an error, and at its start."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse_core.errors import Unavailable
from ipulse_core.states import JobState
from tests.ipulse.stack.guarded import DEADLINE, Watched
from tests.service.conditions import eventually

from .stack_jobs import (
    ENVIRONMENT,
    follow_until,
    pids_printed_by,
    runner_of,
    stack_in_another_process,
    states,
    submit,
    wait_until_caught,
)


class TestStopping:
    def test_a_stopped_job_resumes_in_the_next_run(self, tmp_path: Path) -> None:
        stack = Stack(tmp_path / "home", environment=ENVIRONMENT)
        stack.start()
        processes = [Watched(process.pid) for process in stack.processes.values()]
        with Connection(stack.url, token_file=stack.token_path) as client:
            job_id = submit(client, "trains_until_released")
            runner = runner_of(client, job_id)
        stack.stop()
        assert runner.ends()
        assert all(process.ends() for process in processes)
        assert not (tmp_path / "home" / "server.json").exists()
        assert stack.processes == {}
        with stack, Connection(stack.url, token_file=stack.token_path) as client:
            runner_of(client, job_id, attempt=2)
            job = client.job(job_id)
            assert [attempt["reason"] for attempt in job.json["attempts"]] == [
                "worker_stopped",
                None,
            ]
            follow_until(client, job_id, "Attempt 2 resumes from checkpoint", attempt=2)

    @pytest.mark.verify
    def test_its_agents_sign_off_and_come_back_in_the_next_run(self, tmp_path: Path) -> None:
        stack = Stack(tmp_path / "home", environment=ENVIRONMENT)
        names = []
        for _ in range(2):
            with stack, Connection(stack.url, token_file=stack.token_path) as client:
                eventually(lambda client=client: "idle" in states(client).values())
                assert list(states(client).values()) == ["idle"]
                names += states(client)
        assert len(set(names)) == 1  # it follows from the home's key

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
            with Connection(
                json.loads((home / "server.json").read_text())["url"], home=home
            ) as client:
                before = submit(client, "trains_until_released")
                runner_of(client, before)
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                runner_of(client, before, attempt=2)
                client.job(before).cancel()
                after = submit(client, "completes")
                assert (
                    client.job(before).wait(timeout=DEADLINE, check=False).state
                    is JobState.CANCELLED
                )
                assert (
                    client.job(after).wait(timeout=DEADLINE, check=False).state
                    is JobState.SUCCEEDED
                )
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

    def test_an_agent_that_cannot_start_says_why_in_a_sentence(self, tmp_path: Path) -> None:
        stack = Stack(tmp_path / "home", environment={"IPULSE_RUNNER_PYTHON": "/no/python"})
        with pytest.raises(Unavailable, match="the agent cannot start") as caught:
            stack.start()
        assert "/no/python cannot be executed" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_service_that_cannot_start_says_why_in_a_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "home").mkdir(mode=0o700)
        (tmp_path / "home" / "ipulse.db").write_text("something else entirely" * 100)
        stack = Stack(tmp_path / "home", agents=0)
        with pytest.raises(Unavailable, match="the service cannot start") as caught:
            stack.start()
        assert "ipulse.db: file is not a database" in str(caught.value)
        assert "\n" not in str(caught.value)
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
            with Connection(stack.url, token_file=stack.token_path) as client:
                jobs = [submit(client, "trains_until_released") for _ in range(2)]
                for job_id in jobs:
                    runner_of(client, job_id)
                assert [client.job(job_id).state for job_id in jobs] == [JobState.RUNNING] * 2
