"""Fixtures: a fake service, an agent's settings, and attempts in other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.settings import AgentSettings

from .fake_rules import DEADLINE
from .fake_service import FakeService
from .offspring import Offspring

RUNNERS = "tests.worker.agent.runners"


@pytest.fixture
def offspring() -> Offspring:
    return Offspring()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[FakeService]:
    with FakeService(tmp_path / "worker-token") as service:
        yield service


@pytest.fixture
def settings(service: FakeService, tmp_path: Path) -> AgentSettings:
    work_dir = tmp_path / "work"
    work_dir.mkdir(mode=0o700)
    return AgentSettings(
        service_url=service.url,
        worker_token=service.token,
        broker_url="",  # nothing here speaks to a broker
        work_dir=work_dir,
        runner_module=f"{RUNNERS}.scripted",
        grace_seconds=5.0,
        ready_seconds=DEADLINE,
        warm=False,
    )


@contextmanager
def agent_with(settings: AgentSettings, **changes: object) -> Iterator[Agent]:
    agent = Agent(settings.model_copy(update=changes))
    agent.start()
    try:
        yield agent
    finally:
        agent.close()


@pytest.fixture
def agent(settings: AgentSettings) -> Iterator[Agent]:
    with agent_with(settings) as agent:
        yield agent


@contextmanager
def in_background(work: Callable[[], None]) -> Iterator[threading.Thread]:
    """Run `work` in another thread, which must end before the context does."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield thread
    thread.join(DEADLINE)
    assert not thread.is_alive(), "the attempt did not end"
