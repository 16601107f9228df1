"""A real stack with Redis, service, agent and runners as processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack

from .browser import Browser, open_browser
from .jobs import Runners, older_runner


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the home of this run's stack."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def stack(home: Path) -> Iterator[Stack]:
    # A busy machine may take longer to start the service again than a lease usually lasts.
    patient = {"IPULSE_LEASE_SECONDS": "60", "IPULSE_HEARTBEAT_SECONDS": "1"}
    with Stack(home, environment={**patient, **older_runner()}) as started:
        yield started


@pytest.fixture(scope="session")
def stack_browser(stack: Stack) -> Iterator[Browser]:
    """One browser for all tests of the stack's page; each signs in by itself."""
    with open_browser(stack.url) as opened:
        yield opened


@pytest.fixture
def client(stack: Stack) -> Iterator[Connection]:
    with Connection(stack.url, token_file=stack.token_path) as made:
        yield made


@pytest.fixture
def runners(home: Path) -> Runners:
    return Runners(home / "logs" / "agent.log")
