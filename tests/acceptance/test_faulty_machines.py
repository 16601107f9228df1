"""An agent on a faulty machine gives its jobs to another one, says why, and works again later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from tests.service.conditions import eventually

from .faulty_machines import MACHINES
from .jobs import PATIENCE, small_spec, until

pytestmark = pytest.mark.verify

JOBS = 4


def names(client: Connection) -> dict[str, str]:
    """The names of the agents that are there, by the end of the name."""
    found = [agent.name for agent in client.agents() if agent.state != "offline"]
    return {name.rpartition("-")[2]: name for name in found}


@contextmanager
def drained(client: Connection, name: str) -> Iterator[None]:
    """An agent gets no new jobs."""
    client.drain_agent(name)
    try:
        yield
    finally:
        client.resume_agent(name)


def attempts(client: Connection, job_id: str) -> list[dict[str, Any]]:
    """The attempts of a job, which succeeds."""
    job = client.job(job_id).wait(timeout=PATIENCE, check=False)
    assert job.succeeded, job.message
    found: list[dict[str, Any]] = job.json["attempts"]
    return found


@pytest.mark.parametrize("fault", MACHINES)
def test_a_fault_moves_the_jobs_until_it_is_gone(
    stack: Stack, client: Connection, tmp_path: Path, fault: str
) -> None:
    # More than a lost job leaves free when its files are removed.
    variables = {"IPULSE_LEAST_FREE_BYTES": "2000000"}
    variables |= {"IPULSE_REST_SECONDS": "5", "IPULSE_WARM": "0"}
    with MACHINES[fault](tmp_path) as machine:
        variables["IPULSE_WORK_DIR"] = str(machine.work_dir)
        [good] = names(client).values()
        with stack.more_agent("faulty", variables) as agent:
            assert agent.process is not None
            pid = agent.process.pid
            faulty = str(eventually(lambda: names(client).get("faulty")))

            def shown() -> str | None:
                [found] = [each for each in client.agents() if each.name == faulty]
                return found.fault

            with drained(client, good):
                held = client.submit(small_spec(epochs=200)).id
                until(client.job(held).watch(), "metric", epoch=2)
                machine.cause(pid)
                queued = client.submit(small_spec(seed=8)).id
                eventually(shown, PATIENCE)
                assert machine.reason in str(shown())
            jobs = [client.submit(small_spec(seed=10 + number)).id for number in range(JOBS)]
            tried = [attempt for job in (held, queued) for attempt in attempts(client, job)]
            lost = [attempt for attempt in tried if attempt["reason"] != "completed"]
            assert {attempt["reason"] for attempt in lost} <= {machine.reason}, lost
            assert {attempt["agent"] for attempt in lost} <= {faulty}
            assert len(lost) <= 2
            for job in jobs:
                assert [attempt["agent"] for attempt in attempts(client, job)] == [good]
            machine.mend(pid)
            eventually(lambda: shown() is None, PATIENCE)
            with drained(client, good):
                again = client.submit(small_spec(seed=9)).id
                assert [attempt["agent"] for attempt in attempts(client, again)] == [faulty]
