"""Clients that open a connection and stop sending are disconnected and delay nobody."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from ipulse.stack.redis_server import RedisServer
from ipulse_service.http.server import lanes
from ipulse_service.http.server import uvicorn_protocol as http
from tests.service.conditions import eventually
from tests.service.running import SPEC, InProcess, settings_for

HEAD = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(http, "BODY_SECONDS", 0.2)


@pytest.fixture
def connection(service: InProcess, brief: None) -> Iterator[socket.socket]:
    address = (service.user.base_url.host, service.user.base_url.port or 0)
    with closing(socket.create_connection(address, timeout=30)) as connection:
        yield connection


def everything(connection: socket.socket) -> bytes:
    answer = b""
    with suppress(
        ConnectionResetError
    ):  # of a client that was still sending; the answer comes first
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


def authorised(service: InProcess) -> str:
    return f"{HEAD}Authorization: {service.user.headers['authorization']}\r\n"


def test_an_incomplete_head_is_refused(connection: socket.socket) -> None:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
    head, _, body = everything(connection).decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 408 Request Timeout")
    assert '"code":"too_slow"' in body


def test_single_bytes_do_not_restart_the_timeout_of_a_head(connection: socket.socket) -> None:
    # Each byte arrives before the timeout, and none restarts it.
    connection.settimeout(0.02)
    answer = b""
    for byte in "GET /" + "x" * 2_000:
        try:
            connection.sendall(byte.encode())
            answer = connection.recv(65536)
        except TimeoutError:
            continue
        except ConnectionError:  # it was closed before the byte arrived
            return
        break
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_silent_connection_is_closed_without_a_response(connection: socket.socket) -> None:
    assert everything(connection) == b""


def test_a_body_that_stops_is_given_up(service: InProcess, connection: socket.socket) -> None:
    connection.sendall(f'{authorised(service)}Content-Length: 100\r\n\r\n{{"ver'.encode())
    assert service.submit()["state"] == "queued", "other clients are served meanwhile"
    assert everything(connection) == b""
    assert len(service.user.get("/v1/jobs").json()["jobs"]) == 1


def test_a_body_sent_without_waiting_for_100_continue_is_given_up(
    service: InProcess, connection: socket.socket
) -> None:
    head = f"{authorised(service)}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    connection.sendall(f'{head}{{"ver'.encode())
    time.sleep(0.05)  # so that more of the body comes by itself
    connection.sendall(b"sion")
    assert not everything(connection).replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")


def test_a_connection_that_waits_for_its_response_stays_open(
    service: InProcess, brief: None
) -> None:
    job_id = service.submit()["id"]
    answer = service.user.get(f"/v1/jobs/{job_id}", headers={"prefer": "wait=1"})
    assert answer.json()["state"] == "queued"
    assert service.user.get("/healthz").is_success


@contextmanager
def dripping(service: InProcess, clients: int) -> Iterator[list[socket.socket]]:
    """Clients that send the bodies of submissions byte by byte while the context is open."""
    address = (service.user.base_url.host, service.user.base_url.port or 0)
    ended = threading.Event()
    sent = 0

    def drip() -> None:
        nonlocal sent
        while not ended.wait(0.02):
            for each in connections:
                with suppress(OSError):  # it was closed
                    each.sendall(b" ")
            sent += 1

    with ExitStack() as stack:
        connections = [
            stack.enter_context(closing(socket.create_connection(address, timeout=30)))
            for _ in range(clients)
        ]
        for each in connections:
            each.sendall(f"{authorised(service)}Content-Length: 4000000\r\n\r\n{{".encode())
        dripper = threading.Thread(target=drip)
        stack.callback(dripper.join)
        stack.callback(ended.set)
        dripper.start()
        eventually(lambda: sent > 10)  # the service reads them
        yield connections


def test_slow_bodies_do_not_delay_the_submissions_of_others(service: InProcess) -> None:
    with dripping(service, 2 * lanes.SUBMISSIONS_AT_ONCE):
        for _ in range(2 * lanes.SUBMISSIONS_AT_ONCE):
            assert service.user.post("/v1/jobs", json=SPEC, timeout=10).status_code == 202


def test_slow_bodies_are_not_counted_as_submissions_in_progress(
    home: Path, redis_server: RedisServer
) -> None:
    settings = settings_for(home, redis_server.url, max_submissions=1)
    with InProcess(settings) as service, dripping(service, 3):
        assert service.submit()["state"] == "queued"


def test_a_body_that_takes_too_long_is_refused_however_steadily_it_comes(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "BODY_SECONDS", 0.5)
    with dripping(service, 1) as (connection,):
        head, _, body = everything(connection).decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 408 ")
    assert "connection: close" in head.lower()
    assert '"code":"too_slow"' in body
