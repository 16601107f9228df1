"""A user who sends as many requests as a process can leaves others and agents alone."""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ipulse.stack.redis_server import RedisServer
from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.running import ROOT, SPEC, Program, settings_for

HERE = Path(__file__).parent
CONNECTIONS = 32
SECONDS = 6.0  # of a measurement
BURST_RATIO = 6  # of the time of others during the burst, which lasts seconds
ROUNDS = 3  # of refusals
REFUSALS = 1000
REFUSAL_SECONDS = 0.0005  # of processor time

pytestmark = [pytest.mark.verify, pytest.mark.alone]


@pytest.fixture
def service(home: Path, redis_server: RedisServer) -> Iterator[Program]:
    settings = settings_for(home, redis_server.url)
    with Program(settings, IPULSE_REQUESTS_BURST="500") as running:  # what is shipped
        yield running


@pytest.fixture
def null_server() -> Iterator[str]:
    """The address of a server that does nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.fileno()
        command = [sys.executable, "-m", "tests.service.listening.null_server", str(number)]
        process = subprocess.Popen(command, cwd=ROOT, pass_fds=[number])
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        process.kill()
        process.wait()


@contextmanager
def flooding(address: str, request: str) -> Iterator[None]:
    """One niced process floods a server while the context is open."""
    host, port = address.split(":")
    command = ["nice", sys.executable, str(HERE / "flood.py"), host, port, str(CONNECTIONS)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request.encode())
        process.stdin.close()
        assert process.stdout.readline()
        yield
        process.kill()


def timed(call: Callable[[], httpx.Response], status: int) -> float:
    began = time.monotonic()
    assert call().status_code == status
    return time.monotonic() - began


def times(service: Program, attempt: Attempt) -> tuple[list[float], list[float]]:
    """The seconds of submissions and heartbeats for a while."""
    submissions, heartbeats = [], []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        submissions.append(timed(lambda: service.user.post("/v1/jobs", json=SPEC), 202))
        heartbeats.append(timed(attempt.heartbeat, 200))
        time.sleep(0.05)
    return submissions, heartbeats


def answered_per_second(service: Program) -> float:
    """Requests of users, which are fewer once the flooder has used up its burst."""

    def answered() -> float:
        families = text_string_to_metric_families(service.user.get("/metrics").text)
        samples = [sample for each in families for sample in each.samples]
        return sum(
            each.value
            for each in samples
            if each.name == "ipulse_http_requests_total" and each.labels["route"] == "/v1/jobs"
        )

    before, began = answered(), time.monotonic()
    time.sleep(1)
    return (answered() - before) / (time.monotonic() - began)


@pytest.mark.parametrize("what", ["GET", "POST"])
def test_n31_a_flood_delays_others_no_more_than_one_of_a_server_that_does_nothing(
    service: Program, null_server: str, what: str
) -> None:
    attempt = service.attempt(service.submit()["id"])
    new = {"name": "flood", "role": "user", "seconds": 600}
    token = service.user.post("/v1/tokens", json=new).json()["token"]
    ours = service.url.removeprefix("http://")
    body = '{"version": 1, "network": {"layers": [{"neurons": 4}]}}' if what == "POST" else ""
    request = (
        f"{what} /v1/jobs HTTP/1.1\r\nHost: {ours}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    seen: dict[str, tuple[list[float], list[float]]] = {}
    with flooding(null_server, request):
        seen[null_server] = times(service, attempt)
    in_the_long_run = 1.2 * service.settings.requests_per_second
    with flooding(ours, request):
        burst = times(service, attempt)
        eventually(lambda: answered_per_second(service) < in_the_long_run, seconds=120)
        seen[ours] = times(service, attempt)
    with flooding(null_server, request):  # the machine may have changed meanwhile
        for all_times, more in zip(seen[null_server], times(service, attempt), strict=True):
            all_times.extend(more)
    for kind in (0, 1):
        assert median(seen[ours][kind]) <= 2 * median(seen[null_server][kind])
        assert median(burst[kind]) <= BURST_RATIO * median(seen[null_server][kind])


@pytest.mark.parametrize("form", ["ipulse_{id}_{secret}", "{secret}"])
def test_a_refused_token_costs_half_a_millisecond(service: Program, form: str) -> None:
    def seconds() -> float:
        assert service.process is not None
        fields = Path(f"/proc/{service.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    host, port = service.url.removeprefix("http://").split(":")
    costs = []
    with closing(http.client.HTTPConnection(host, int(port))) as connection:
        for _ in range(ROUNDS):  # what else the service and the machine do is in some of them
            began = seconds()
            for _ in range(REFUSALS):
                token = form.format(id=secrets.token_hex(8), secret=secrets.token_urlsafe(32))
                headers = {"Authorization": f"Bearer {token}"}
                connection.request("GET", "/v1/jobs", headers=headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 401
            costs.append((seconds() - began) / REFUSALS)
    assert min(costs) <= REFUSAL_SECONDS
