"""No lease ends while a service is blocked, on a busy machine, with many users at once."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.supervision.heartbeat import Heartbeat
from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.listening.conftest import Blockable
from tests.service.running import SPEC, Program
from tests.service.test_program import log_lines

LOAD = 40  # processes that compute
USERS = 500  # that submit at once
BLOCKED_SECONDS = 20.0
ANSWERED_SECONDS = 1.0  # by when an agent has its answer
CLAIMS = 30
NOTICED_SECONDS = 45.0  # of listening, after which a dead agent has lost its job

pytestmark = [pytest.mark.verify, pytest.mark.alone]


@contextmanager
def load() -> Iterator[None]:
    """Other programs of the machine compute while the context is open."""
    command = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command) for _ in range(LOAD)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


@contextmanager
def heartbeats(service: Program, attempt: Attempt) -> Iterator[AttemptLease]:
    """The heartbeats of a real agent."""
    api = ServiceAPI(service.url, service.agent_token())
    claim = attempt.claim
    seconds = claim["lease_seconds"]
    lease = AttemptLease(claim["attempt_id"], claim["fence"], seconds, time.monotonic())

    def ignore() -> None:
        """No order is given."""

    with Heartbeat(api, lease, claim["heartbeat_seconds"], ignore, ignore, ignore):
        yield lease
    api.close()


def submit_all(services: list[Blockable]) -> Counter[int]:
    """The statuses of the answers to many users at once; all requests are sent first."""
    body = json.dumps(SPEC).encode()
    waiting = []
    with ExitStack() as closing:
        for number in range(USERS):
            service = services[number % len(services)]
            host, port = service.url.removeprefix("http://").split(":")
            head = (
                f"POST /v1/jobs HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n"
                f"Authorization: {service.user.headers['authorization']}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            user = socket.create_connection((host, int(port)), timeout=300)
            waiting.append(closing.enter_context(user))
            user.sendall(head.encode() + body)
        answers = [b"".join(iter(partial(user.recv, 65536), b"")) for user in waiting]
    statuses = Counter(int(answer.split(b" ", 2)[1]) for answer in answers)
    assert all(b"retry-after: " in answer for answer in answers if b" 503 " in answer[:20])
    return statuses


def test_agents_are_answered_within_a_second_while_the_loop_of_users_is_blocked(
    replicas: list[Blockable],
) -> None:
    service = replicas[0]
    attempt = service.attempt(service.submit()["id"])
    waiting = [service.submit()["id"] for _ in range(CLAIMS)]
    slowest = 0.0
    with ThreadPoolExecutor(2) as beside:
        path, seconds = "/v1/block", {"seconds": BLOCKED_SECONDS}
        blocking = beside.submit(service.user.get, path, params=seconds, timeout=300.0)
        submitting = beside.submit(submit_all, [service])
        while not blocking.done():
            began = time.monotonic()
            assert attempt.heartbeat().status_code == 200
            slowest = max(slowest, time.monotonic() - began)
            if waiting:
                began = time.monotonic()
                agent = f"agent-{len(waiting) + 1}"
                assert service.claim(waiting.pop(0), agent).status_code == 200
                slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.1)
        assert set(submitting.result()) <= {202, 503}
    assert slowest <= ANSWERED_SECONDS


def moment(line: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(line["time"])


def test_a_blocked_loop_a_busy_machine_and_many_users_end_no_lease(
    replicas: list[Blockable],
) -> None:
    held = [(each, each.attempt(each.submit()["id"])) for each in (*replicas, *replicas)]
    dead = replicas[0].attempt(replicas[0].submit()["id"]).claim["job_id"]
    began = time.monotonic()
    with ExitStack() as closing:
        agents = [closing.enter_context(heartbeats(*each)) for each in held]
        for service, attempt in held:  # its agent has sent a first one
            path = f"{attempt.path}/heartbeat"
            eventually(lambda: path in [line.get("path") for line in log_lines(service)])  # noqa: B023
        with load(), ThreadPoolExecutor(len(replicas)) as beside:
            blocking = [
                beside.submit(
                    each.user.get, "/v1/block", params={"seconds": BLOCKED_SECONDS}, timeout=300.0
                )
                for each in replicas
            ]
            statuses = submit_all(replicas)
            assert [one.result().status_code for one in blocking] == [200] * len(replicas)
        assert set(statuses) <= {202, 503}
        assert time.monotonic() - began > BLOCKED_SECONDS
        eventually(lambda: replicas[0].job(dead)["state"] != "preparing", seconds=60)
        assert [lease.loss for lease in agents] == [None] * len(agents)
        for service, attempt in held:
            job = service.job(attempt.claim["job_id"])
            assert (job["state"], job["attempt"]) == ("preparing", 1)
            assert attempt.heartbeat().status_code == 200
    lines = [line for each in replicas for line in log_lines(each)]
    [lost] = [line for line in lines if line["action"] == "lease_expired"]
    assert lost["job"] == dead
    of_dead = [line for line in lines if line.get("job") == dead]
    claimed = [line for line in of_dead if "claims" in line.get("path", "")]
    blocked = [line for line in lines if line["action"] == "event_loop_blocked"]
    deaf = sum(line["seconds"] for line in blocked if line["lane"] == "worker")
    seconds = (moment(lost) - moment(claimed[0])).total_seconds()
    # Not counted as listening, and not in the log, is also the time in which heartbeats waited.
    assert seconds - deaf <= NOTICED_SECONDS + BLOCKED_SECONDS
