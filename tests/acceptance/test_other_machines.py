"""Agents on other addresses, behind links that are slow and get cut: each job ends exactly once."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.client.administration.resources import AgentStatus
from ipulse.stack.stack import Stack
from ipulse.stack.tls import self_signed
from ipulse_core.states import JobState
from tests.ipulse.stack.join_commands import running
from tests.ipulse.stack.stack_jobs import runner_of, submit
from tests.service.conditions import eventually

from .jobs import PATIENCE
from .networks import NotPermitted, OtherMachine

SOURCE = Path(__file__).parents[2]
LEASE_SECONDS = 4
ENVIRONMENT = {
    "IPULSE_RUNNER_MODULE": "tests.worker.agent.runners.scripted",
    "IPULSE_LEASE_SECONDS": str(LEASE_SECONDS),
    "IPULSE_HEARTBEAT_SECONDS": "0.5",
    "IPULSE_RETRY_SECONDS": "0.01",
    "IPULSE_WARM": "0",
}


@pytest.fixture(scope="module")
def machines() -> Iterator[list[OtherMachine]]:
    with contextlib.ExitStack() as closing:
        try:
            yield [closing.enter_context(OtherMachine(number)) for number in range(2)]
        except NotPermitted as error:
            pytest.skip(f"network namespaces are not permitted here: {error}")


@pytest.fixture(scope="module")
def stack(
    machines: list[OtherMachine], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    names = [machine.here for machine in machines]
    made = self_signed(tmp_path_factory.mktemp("made"), names)
    environment = {**ENVIRONMENT, "IPULSE_ALLOWED_HOSTS": ",".join(["127.0.0.1", *names])}
    home = tmp_path_factory.mktemp("home")
    everywhere = "0.0.0.0"  # noqa: S104 - within this machine and its namespaces
    with Stack(home, everywhere, 0, 0, False, environment, made) as running:
        yield running


@pytest.fixture
def client(stack: Stack) -> Iterator[Connection]:
    with Connection(home=stack.home) as client:
        yield client


def ipulse(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ipulse", *arguments]


def join_line(stack: Stack, machine: OtherMachine, *options: str) -> list[str]:
    """The arguments of the command for a machine, as the owner of the service gets it."""
    port = stack.url.rpartition(":")[2]
    url = f"https://{machine.here}:{port}"
    command = ipulse("agent", "token", "--home", str(stack.home), "--join-url", url, *options)
    printed = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=True)
    return shlex.split(printed.stdout)[1:]


@contextlib.contextmanager
def agent_on(machine: OtherMachine, name: str, home: Path, line: list[str]) -> Iterator[None]:
    """An agent on a machine that has joined and waits for jobs."""
    with running(home, *line, "--name", name, before=machine.command()) as process:
        yield
    assert process.returncode == 0


def agents_of(client: Connection, job_id: str) -> list[str]:
    """The agents of a job's attempts, after checking that it succeeded, and exactly once."""
    job = client.job(job_id).wait(timeout=PATIENCE, check=False)
    assert job.state is JobState.SUCCEEDED
    states = [JobState(event.json["state"]) for event in client.job(job_id).events(kinds=["state"])]
    assert [state for state in states if state.is_terminal] == [JobState.SUCCEEDED]
    attempts = job.json["attempts"]
    assert [attempt["reason"] == "completed" for attempt in attempts] == [
        *[False] * (len(attempts) - 1),
        True,
    ]
    roles = {artifact.role for artifact in client.job(job_id).artifacts()}
    assert {"metrics", "weights", "manifest"} <= roles
    return [attempt["agent"] for attempt in attempts]


def agent_called(client: Connection, name: str) -> AgentStatus:
    [found] = [agent for agent in client.agents() if agent.name == name]
    return found


def test_a_job_runs_at_another_address(
    stack: Stack, client: Connection, machines: list[OtherMachine], tmp_path: Path
) -> None:
    line = join_line(stack, machines[0], "--labels", "site=b")
    with agent_on(machines[0], "elsewhere", tmp_path / "a", line):
        assert agents_of(client, submit(client, "completes")) == ["elsewhere"]
        shown = agent_called(client, "elsewhere")
        assert (shown.labels, shown.has_joined) == ({"site": "b"}, True)
        eventually(lambda: agent_called(client, "elsewhere").state == "idle", PATIENCE)
    again = ["--name", "replay", "--home", str(tmp_path / "b")]
    replayed = machines[1].command(*ipulse(*line, *again))
    assert subprocess.run(replayed, cwd=SOURCE, capture_output=True, check=False).returncode != 0
    assert [agent.name for agent in client.agents()].count("replay") == 0


@pytest.mark.verify
def test_a_cut_longer_than_a_lease_moves_the_job_to_another_machine(
    stack: Stack, client: Connection, machines: list[OtherMachine], tmp_path: Path
) -> None:
    first, second = machines
    with agent_on(first, "cut-off", tmp_path / "a", join_line(stack, first)):
        job_id = submit(client, "waits_at_the_first_attempt")
        runner = runner_of(client, job_id)
        first.cut()
        try:
            with agent_on(second, "near", tmp_path / "b", join_line(stack, second)):
                assert agents_of(client, job_id) == ["cut-off", "near"]
            assert runner.ends(PATIENCE)  # its agent knows that the lease is over
        finally:
            first.mend()
        # Without a restart it works again.
        assert agents_of(client, submit(client, "completes")) == ["cut-off"]
        assert agents_of(client, job_id) == ["cut-off", "near"]


@pytest.mark.verify
def test_a_cut_while_an_agent_waits_delays_no_more_than_it_lasts(
    stack: Stack, client: Connection, machines: list[OtherMachine], tmp_path: Path
) -> None:
    machine = machines[0]
    with agent_on(machine, "waiting", tmp_path / "a", join_line(stack, machine)):
        machine.cut()
        try:
            job_id = submit(client, "completes")
            with pytest.raises(TimeoutError):
                client.job(job_id).wait(timeout=LEASE_SECONDS + 2, check=False)
        finally:
            machine.mend()
        assert agents_of(client, job_id) == ["waiting"]


@pytest.mark.verify
def test_a_slow_link_that_is_cut_during_the_upload(
    stack: Stack, client: Connection, machines: list[OtherMachine], tmp_path: Path
) -> None:
    machine = machines[1]
    with agent_on(machine, "slow", tmp_path / "a", join_line(stack, machine)):
        machine.slow("4mbit")
        job_id = submit(client, "completes")  # its weights take six seconds
        for event in client.job(job_id).watch():
            if event.kind == "state" and event.json["state"] == "reporting":
                break
        machine.cut()
        eventually(lambda: client.job(job_id).state is JobState.QUEUED, PATIENCE)
        machine.mend()
        # The results of the first attempt are taken if no second one has begun.
        assert agents_of(client, job_id) in (["slow"], ["slow", "slow"])


def test_a_drain_returns_the_job_and_a_resume_takes_it_again(
    stack: Stack, client: Connection, machines: list[OtherMachine], tmp_path: Path
) -> None:
    machine = machines[0]
    with agent_on(machine, "drained", tmp_path / "a", join_line(stack, machine)):
        job_id = submit(client, "waits_at_the_first_attempt")
        runner = runner_of(client, job_id)
        client.drain_agent("drained", 0)
        assert runner.ends(PATIENCE)
        eventually(lambda: client.job(job_id).state is JobState.QUEUED, PATIENCE)
        assert agent_called(client, "drained").state == "drained"
        client.resume_agent("drained")
        assert agents_of(client, job_id) == ["drained", "drained"]


def test_a_removed_agent_ends(
    stack: Stack, client: Connection, machines: list[OtherMachine], tmp_path: Path
) -> None:
    machine = machines[0]
    line = join_line(stack, machine)
    command = machine.command(
        *ipulse(*line, "--name", "removed", "--home", str(tmp_path / "a"), "--json")
    )
    with subprocess.Popen(
        command, cwd=SOURCE, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        client.remove_agent("removed")
        assert process.wait(PATIENCE) == 4
