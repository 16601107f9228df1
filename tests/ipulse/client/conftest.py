"""Both clients under one face, so that each test is of both, and jobs of the real service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio.from_thread
import pytest

from ipulse.client import AsyncConnection, AsyncJobHandle, Connection, Job, JobHandle
from ipulse.client.transport import retries
from tests.ipulse.live_service import Agent, LiveService

from . import samples
from .awaited import Awaited
from .scripted_jobs import Ended, experiment, run_job

HIDDEN = "of-this-test-0123456789abcdef"

Connect = Callable[..., Connection]
# Tests of `connection` run on the blocking client only, unless they are marked so.
on_both = pytest.mark.parametrize("connection", ["sync", "async"], indirect=True)


def job_of(connection: Any, job_id: str = "job_1") -> Any:
    """Return the handle of a job without asking the service."""
    known = Job.from_json(samples.job(id=job_id))
    if isinstance(connection, Awaited):
        return Awaited(connection.portal, job_of(connection.target, job_id))
    kind = AsyncJobHandle if isinstance(connection, AsyncConnection) else JobHandle
    return kind(connection, known)


@pytest.fixture
def portal() -> Iterator[Any]:
    with anyio.from_thread.start_blocking_portal() as made:
        yield made


@pytest.fixture(params=["sync", "async"])
def connect(
    request: pytest.FixtureRequest, portal: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Connect]:
    """Makes connections of one kind or the other, which try again without much delay."""
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.001)
    opened = []

    def make(*arguments: Any, **named: Any) -> Any:
        made: Any
        if request.param == "sync":
            made = Connection(*arguments, **named)
        else:
            made = Awaited(portal, AsyncConnection(*arguments, **named))
        opened.append(made)
        return made

    yield make
    for made in opened:
        made.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a stack that runs on this machine."""
    (tmp_path / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:8471", "pid": 1}))
    (tmp_path / "token").write_text(HIDDEN + "\n")
    return tmp_path


@pytest.fixture
def connection(request: pytest.FixtureRequest, service: LiveService) -> Iterator[Any]:
    """A connection to the real service: a blocking one, unless the test is `on_both`."""
    options: dict[str, Any] = {"token_file": service.home / "token"}
    if getattr(request, "param", "sync") == "sync":
        with Connection(service.url, **options) as made:
            yield made
        return
    portal = request.getfixturevalue("portal")
    with Awaited(portal, AsyncConnection(service.url, **options)) as awaited:
        yield awaited


@pytest.fixture
def agent(service: LiveService) -> Iterator[Agent]:
    made = service.agent()
    yield made
    made.close()


@pytest.fixture
def ended(connection: Connection, agent: Agent) -> Ended:
    """Submits a job, runs it and returns its handle."""

    def run(fails: bool = False, **options: Any) -> JobHandle:
        job = connection.submit(experiment(), **options)
        run_job(agent, job.id, fails)
        return job.refresh()

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"
