"""Both clients under one face, so that each test is of both."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio.from_thread
import pytest

from ipulse.client import AsyncClient, Client
from ipulse.client.transport import retries

HIDDEN = "of-this-test-0123456789abcdef"


class Awaited:
    """An AsyncClient on an event loop in a thread, called like a Client."""

    def __init__(self, portal: Any, client: AsyncClient) -> None:
        self._portal = portal
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if not callable(method):
            return method

        def call(*arguments: Any, **named: Any) -> Any:
            made = method(*arguments, **named)
            if inspect.isasyncgen(made):
                return self._iterate(made)
            return self._portal.call(_finish, made)

        return call

    def _iterate(self, events: Any) -> Iterator[Any]:
        ended = object()
        try:
            while True:
                item = self._portal.call(_next, events, ended)
                if item is ended:
                    return
                yield item
        finally:
            self._portal.call(events.aclose)


async def _finish(made: Any) -> Any:
    return await made


async def _next(events: Any, ended: object) -> Any:
    try:
        return await events.__anext__()
    except StopAsyncIteration:
        return ended


Connect = Callable[..., Client]


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Makes clients of one kind or the other, which try again without much delay."""
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.001)
    opened = []
    with anyio.from_thread.start_blocking_portal() as portal:

        def make(*arguments: Any, **named: Any) -> Any:
            client: Any
            if request.param == "sync":
                client = Client(*arguments, **named)
            else:
                client = Awaited(portal, AsyncClient(*arguments, **named))
            opened.append(client)
            return client

        yield make
        for client in opened:
            client.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a stack that runs on this machine."""
    (tmp_path / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:8471", "pid": 1}))
    (tmp_path / "token").write_text(HIDDEN + "\n")
    return tmp_path
