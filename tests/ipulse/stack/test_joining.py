"""An agent joins a service over TLS with one command, as it is printed."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse_core.states import JobState
from tests.ipulse.live_service import LiveService
from tests.ipulse.stack.guarded import DEADLINE
from tests.ipulse.stack.join_commands import ipulse, join_line, running
from tests.ipulse.stack.stack_jobs import submit

MONTH_MS = 30 * 86_400_000

SECRET = re.compile(r"(ipj|ipulse)_[0-9a-f]{16}_")


def test_an_agent_joins_runs_a_job_and_runs_again_later(
    stack: Stack, client: Connection, tmp_path: Path
) -> None:
    home = tmp_path / "agent"
    line = join_line(stack, "--labels", "site=b,room=2")
    with running(home, *line, "--name", "joined") as process:
        assert not SECRET.search(" ".join(psutil.Process(process.pid).cmdline()))
        job = client.job(submit(client, "completes")).wait(timeout=DEADLINE, check=False)
        assert job.state is JobState.SUCCEEDED
    assert process.returncode == 0
    with running(home, "agent", "run", before=["nohup"]) as process:
        for each in [process, *psutil.Process(process.pid).children(recursive=True)]:
            os.kill(each.pid, signal.SIGHUP)
        job = client.job(submit(client, "completes")).wait(timeout=DEADLINE, check=False)
        assert job.state is JobState.SUCCEEDED
    for name in ("agent.json", "instance"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
    left = ipulse("agent", "leave", "--yes", "--home", str(home))
    assert left.returncode == 0, left.stderr
    assert ipulse("agent", "run", "--home", str(home)).returncode == 3


@pytest.mark.verify
def test_a_joined_agent_that_was_off_for_a_month_comes_back(
    stack: Stack, client: Connection, tmp_path: Path
) -> None:
    home = tmp_path / "agent"
    with running(home, *join_line(stack), "--name", "long-off"):
        pass
    with closing(sqlite3.connect(stack.home / "ipulse.db", timeout=DEADLINE)) as database, database:
        for table, column, key in (
            ("agents", "seen_at", "name"),
            ("agents", "stopped_at", "name"),
            ("tokens", "created_at", "agent"),
            ("tokens", "expires_at", "agent"),
        ):
            change = f"UPDATE {table} SET {column} = {column} - ?"  # noqa: S608 - of this list
            statement = f"{change} WHERE {key} = 'long-off'"
            assert database.execute(statement, [MONTH_MS]).rowcount == 1
    assert [agent.state for agent in client.agents() if agent.name == "long-off"] == ["offline"]
    with running(home, "agent", "run"):
        job = client.job(submit(client, "completes")).wait(timeout=DEADLINE, check=False)
        assert job.state is JobState.SUCCEEDED
    left = ipulse("agent", "leave", "--yes", "--home", str(home))
    assert left.returncode == 0, left.stderr


def test_a_joined_agent_that_ends_is_started_again(
    stack: Stack, client: Connection, tmp_path: Path
) -> None:
    with running(tmp_path / "agent", *join_line(stack), "--name", "killed") as process:
        below = psutil.Process(process.pid).children(recursive=True)
        [agent] = [child for child in below if "ipulse_worker.agent" in child.cmdline()]
        agent.kill()
        assert process.stderr is not None
        while "agent has ended" not in (said := process.stderr.readline()):
            assert said
        job = client.job(submit(client, "completes")).wait(timeout=DEADLINE, check=False)
        assert job.state is JobState.SUCCEEDED


def test_no_broker_is_needed(tmp_path: Path) -> None:
    """The service cannot reach Redis, and yet its joined agent gets every job."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with LiveService(home, IPULSE_RETRY_SECONDS="0") as service:
        address = {"IPULSE_URL": service.url, "IPULSE_TOKEN": service.token}
        options = ["--join-url", service.url, "--json"]
        made = ipulse("agent", "token", *options, env={**os.environ, **address})
        assert made.returncode == 0, made.stderr
        line = json.loads(made.stdout)["command"][1:]
        with running(tmp_path / "agent", *line), Connection(service.url, service.token) as client:
            for _ in range(3):
                job = client.job(submit(client, "completes")).wait(timeout=DEADLINE, check=False)
                assert job.state is JobState.SUCCEEDED
