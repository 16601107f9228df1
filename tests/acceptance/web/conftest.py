"""A service and a browser of all views, its client, and an agent that the test plays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ipulse.client import Connection
from tests.acceptance.browser import Browser, open_browser
from tests.ipulse.live_service import Agent, LiveService


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    with LiveService(tmp_path_factory.mktemp("home")) as live:
        yield live


@pytest.fixture
def agent(service: LiveService) -> Iterator[Agent]:
    agent = service.agent()
    yield agent
    agent.close()


@pytest.fixture
def client(service: LiveService) -> Iterator[Connection]:
    with Connection(service.url, service.token) as made:
        yield made


@pytest.fixture(scope="session")
def browser(service: LiveService) -> Iterator[Browser]:
    with open_browser(service.url) as opened:
        opened.open("/login")
        opened.keep_token(service.token.strip())
        yield opened
