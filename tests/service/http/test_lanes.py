"""Agents are answered while the requests of users block their event loop, or are too many."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ipulse.stack.redis_server import RedisServer
from ipulse_service.db import write_turns
from ipulse_service.http.auth import AuthenticationMiddleware
from ipulse_service.http.caller import Caller
from ipulse_service.http.server import accept_queue, lanes
from tests.service.conditions import eventually
from tests.service.http.test_metrics import samples
from tests.service.running import SPEC, InProcess, settings_for


class Blocked(InProcess):
    """A service with a route that blocks the event loop on which it runs."""

    def block_with(self, path: str) -> tuple[threading.Event, threading.Event]:
        """Adds the route; returns what is set once it blocks, and what ends that."""
        began, ending = threading.Event(), threading.Event()

        async def block(_request: Request) -> Response:
            began.set()
            ending.wait(60)
            return Response()

        self.app.add_route(path, block)
        return began, ending


@pytest.fixture
def service(home: Path, redis_server: RedisServer) -> Iterator[Blocked]:
    with Blocked(settings_for(home, redis_server.url, max_submissions=2)) as running:
        yield running


@contextmanager
def blocked(service: Blocked) -> Iterator[None]:
    """The event loop of users stands still while the context is open."""
    began, ending = service.block_with("/v1/block")
    with ThreadPoolExecutor(1) as beside:
        beside.submit(service.user.get, "/v1/block")
        assert began.wait(30)
        try:
            yield
        finally:
            ending.set()


def test_an_agent_works_while_the_loop_of_users_is_blocked(service: Blocked) -> None:
    attempt = service.attempt(service.submit()["id"])
    waiting = service.submit()["id"]
    with blocked(service):
        for _ in range(3):
            assert attempt.heartbeat().status_code == 200
        assert attempt.report({"kind": "log", "message": "a line"}).status_code == 200
        assert attempt.put("a.bin", "weights", b"abc").status_code == 201
        assert service.claim(waiting).status_code == 200
        assert service.user.get("/healthz").status_code == 200
        # The loop's lag is in the metrics, which are read meanwhile.
        assert service.user.get("/metrics").status_code == 200


def test_no_lease_ends_while_the_loop_of_agents_is_blocked(
    home: Path, redis_server: RedisServer
) -> None:
    settings = settings_for(home, redis_server.url, lease_seconds=2.0, heartbeat_seconds=0.5)
    with Blocked(settings) as service:
        attempt = service.attempt(service.submit()["id"])
        began, ending = service.block_with("/v1/worker/block")
        with ThreadPoolExecutor(2) as beside:
            blocking = beside.submit(service.worker.get, "/v1/worker/block")
            assert began.wait(30)
            heartbeat = beside.submit(attempt.heartbeat)
            time.sleep(3.5)  # longer than a lease
            ending.set()
            assert heartbeat.result().status_code == 200
            blocking.result()
        assert service.job(attempt.claim["job_id"])["state"] == "preparing"
        assert samples(service)["ipulse_loop_lag_seconds_count", frozenset({("lane", "worker")})]
        eventually(lambda: service.job(attempt.claim["job_id"])["state"] == "queued")


def test_no_lease_ends_while_the_token_of_a_heartbeat_is_checked(
    home: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = AuthenticationMiddleware._caller

    async def check_slowly(
        self: AuthenticationMiddleware, scope: Scope, headers: Headers
    ) -> Caller:
        if scope["path"].endswith("/heartbeat"):
            await asyncio.sleep(3.5)  # longer than a lease
        return await check(self, scope, headers)

    settings = settings_for(home, redis_server.url, lease_seconds=2.0, heartbeat_seconds=0.5)
    with InProcess(settings) as service:
        attempt = service.attempt(service.submit()["id"])
        monkeypatch.setattr(AuthenticationMiddleware, "_caller", check_slowly)
        assert attempt.heartbeat().status_code == 200
        assert service.job(attempt.claim["job_id"])["state"] == "preparing"


def test_too_many_submissions_are_refused_for_a_moment(service: Blocked) -> None:
    attempt = service.attempt(service.submit()["id"])
    with ThreadPoolExecutor(20) as users:
        with service.database.write():  # nothing else can be written
            sent = [users.submit(service.user.post, "/v1/jobs", json=SPEC) for _ in range(20)]
            eventually(lambda: sum(answer.done() for answer in sent) == 18)
        answers = [answer.result() for answer in sent]
    refused = [answer for answer in answers if answer.status_code == 503]
    assert len(refused) == 18
    for answer in refused:
        assert answer.json()["code"] == "overloaded"
        assert int(answer.headers["retry-after"]) > 0
    assert attempt.heartbeat().status_code == 200


def test_submissions_are_refused_while_they_would_lie_unread(
    service: Blocked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "SHED_SECONDS", 0.2)
    with blocked(service):
        eventually(lambda: service.state.lanes.user_lag() > 0.2)
        answer = service.user.post("/v1/jobs", json=SPEC)
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    eventually(lambda: service.user.post("/v1/jobs", json=SPEC).status_code == 202)


def test_an_agent_does_not_queue_behind_users_that_write() -> None:
    turns = write_turns.WriteTurns()
    order: list[str] = []

    def write(name: str) -> None:
        write_turns.is_user.set(name != "agent")
        with turns.turn(30) as is_mine:
            assert is_mine
            order.append(name)
            time.sleep(0.01)  # those that wait do so in the lock

    def waiting() -> int:
        return sum(frame.f_code.co_name == "turn" for frame in sys._current_frames().values())

    with ThreadPoolExecutor(40) as threads, turns.turn(30):
        for number in range(30):
            threads.submit(write, f"user {number}")
        eventually(lambda: waiting() == 30)
        threads.submit(write, "agent")
        eventually(lambda: waiting() == 31)
    # It competes with one user at a time, and a lock has no order: each time it may lose.
    assert order.index("agent") < 10
    assert len(order) == 31


def test_every_route_that_accepts_jobs_is_a_submission(service: Blocked) -> None:
    expected = {
        *("/v1/jobs", "/v1/jobs:batch", "/v1/jobs:import", "/v1/jobs:plan", "/v1/jobs:validate"),
        *("/v1/jobs/{job_id}/continue", "/v1/sweeps"),
    }
    posts = {
        path
        for path, item in service.user.get("/openapi.json").json()["paths"].items()
        if "post" in item and lanes.is_submission("POST", path)
    }
    assert posts == expected


def test_the_service_counts_what_it_accepts(service: Blocked) -> None:
    (listener,) = service.state.lanes.listeners
    before = listener.accepted
    for _ in range(3):
        with service.client() as client:  # a connection each
            assert client.get("/healthz").status_code == 200
    assert listener.accepted == before + 3


def test_connections_that_wait_to_be_accepted_are_counted() -> None:
    server = socket.create_server(("127.0.0.1", 0), backlog=8)
    with accept_queue.Listener.of(server) as listener:
        assert accept_queue.waiting(listener) == 0
        with socket.create_connection(listener.getsockname()) as client:
            eventually(lambda: accept_queue.waiting(listener) == 1)
            listener.accept()[0].close()
            assert (accept_queue.waiting(listener), listener.accepted) == (0, 1)
            client.close()
    assert accept_queue.waiting(listener) == 0
