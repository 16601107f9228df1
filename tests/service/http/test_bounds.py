"""No request takes the write lock, the event loop or the memory from all others.

The test walks the routes of the application: a new one with a body, or with a new parameter in its
path, fails until its largest request is described here.
"""

from __future__ import annotations

import gc
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from tests.service.agents import PHASES, Attempt, phase
from tests.service.http.largest_requests import BODIES, QUERIES, Sent, World
from tests.service.large_documents import archive, profile_json
from tests.service.measures import Transactions
from tests.service.profiles import profiled_job, tiles
from tests.service.running import InProcess

# Beside other parts of the tests (scripts/test) a core is shared, and processor time is up to twice
# as long.
BUSY = 2.0 if os.environ.get("BESIDE_OTHERS") else 1.0
LONGEST_TRANSACTION = 0.5 * BUSY  # seconds
LOOP_SECONDS = 1.0 * BUSY  # of processor time
GROWTH_BYTES = 64 * 2**20


@dataclass
class Cost:
    """The costs of a request for others."""

    transaction: float = 0.0
    loop: float = 0.0
    growth: int = 0

    @property
    def faults(self) -> list[str]:
        found = []
        if self.transaction > LONGEST_TRANSACTION:
            found.append(f"a write transaction of {self.transaction:.2f} s")
        if self.loop > LOOP_SECONDS:
            found.append(f"{self.loop:.2f} s of the event loop")
        if self.growth > GROWTH_BYTES:
            found.append(f"{self.growth >> 20} MiB of memory")
        return found


def memory(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]


@contextmanager
def measured(service: InProcess) -> Iterator[Cost]:
    """Measures what the requests of a block cost the service, which runs in this process."""
    cost = Cost()
    loop = time.pthread_getcpuclockid(service.loop_thread)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before, began = memory("VmRSS"), time.clock_gettime(loop)
    with Transactions(service.database.backend.reading).watching() as transactions:
        yield cost
    cost.transaction = transactions.longest
    cost.loop = time.clock_gettime(loop) - began
    cost.growth = memory("VmHWM") - before


ACCEPTED = {
    "POST /v1/jobs",
    "POST /v1/jobs:validate",
    "POST /v1/jobs:import",
    "POST /v1/jobs:batch",
    "POST /v1/sweeps",
}
# These wait for changes, and send what the others send.
WAITING = {"GET /v1/jobs/{job_id}/events/stream", "GET /v1/worker/wakeups"}
LAST = ("POST /v1/jobs:cancel", "DELETE", "POST /v1/jobs:delete")


@pytest.fixture(scope="module")
def world(service: InProcess, tmp_path_factory: pytest.TempPathFactory) -> World:
    service.wait_until_ready()
    gc.collect()
    gc.freeze()  # collections between requests are then short
    made = World(service)
    names = made.names
    names["job_id"] = made.add_import(archive(2_000, values=200))
    names["logs"] = made.add_import(archive(2_000, text="y" * 16_000))
    large = profile_json(8)
    names["profiled"] = profiled_job(service, large, json.dumps(tiles()).encode(), name="profiled")
    files = service.user.get(f"/v1/jobs/{names['profiled']}/artifacts").json()["artifacts"]
    names["artifact_id"] = files[0]["id"]
    attempt: Attempt = service.attempt(service.submit()["id"])
    attempt.report(*map(phase, PHASES[:4]))
    names |= {"attempt_id": attempt.claim["attempt_id"], "fence": attempt.fence}
    names |= dict.fromkeys(("name", "tab", "sweep_id", "token_id", "upload_id", "digest"), "x")
    names |= {"number": "1", "sample": "0"}
    return made


def operations(service: InProcess) -> list[tuple[str, Any]]:
    """All operations, with those that delete at the end."""
    found = [
        (f"{method} {route.path}", route.route)
        for route in iter_route_contexts(service.app.routes)
        for method in sorted(route.methods or ())
    ]
    assert len(found) > 100

    def order(operation: tuple[str, Any]) -> int:
        return max(
            (LAST.index(each) + 1 for each in LAST if operation[0].startswith(each)), default=0
        )

    return sorted(found, key=order)


def test_no_request_takes_everything(service: InProcess, world: World) -> None:
    faults: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for name, route in operations(service):
        has_body = getattr(route, "body_field", None) is not None
        if name in WAITING:
            continue
        assert not has_body or name in BODIES, f"{name}: describe its largest body here"
        for number, sent in enumerate(BODIES.get(name) or QUERIES.get(name) or [small_query]):
            method, _, template = name.partition(" ")
            request = sent(world)
            path = request.fill(template, world.names)
            client = service.worker if path.startswith("/v1/worker/") else service.user
            content = None if request.body is None else json.dumps(request.body).encode()
            headers = {**request.headers, "content-type": "application/json"}
            request.body = None  # what the client keeps is no memory of the service
            with measured(service) as cost:
                status = drained(client, method, path, request.query, content, headers)
            seen[f"{name} {number}"] = status
            assert status < 500, (name, status)
            if cost.faults:
                faults[f"{name} {number}"] = (status, cost.faults)
    for name, bodies in BODIES.items():
        if len(bodies) > 1 or name in ACCEPTED:
            statuses = [seen[f"{name} {number}"] for number in range(len(bodies))]
            assert all(status < 300 for status in statuses), (name, statuses)
    assert faults == {}


def small_query(_: World) -> Sent:
    return Sent()


def drained(
    client: httpx.Client,
    method: str,
    path: str,
    query: dict[str, Any],
    content: bytes | None,
    headers: dict[str, str],
) -> int:
    """Reads a whole response and keeps nothing of it."""
    with client.stream(
        method, path, params=query, content=content, headers=headers, timeout=30
    ) as response:
        for _ in response.iter_raw():
            pass
        return response.status_code
