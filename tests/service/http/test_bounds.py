"""No request takes the write lock, the event loop or the memory from all others.

The test walks the routes of the application: a new one with a body, or with a new parameter in its
path, fails until its largest request is described here.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from tests.service.agents import PHASES, Attempt, phase
from tests.service.conditions import eventually
from tests.service.http.largest_requests import (
    BODIES,
    LARGEST,
    QUERIES,
    Sent,
    World,
    precise_spec,
    sweep,
)
from tests.service.large_documents import archive, profile_json
from tests.service.measures import Transactions
from tests.service.profiles import profiled_job, tiles
from tests.service.running import InProcess

pytestmark = pytest.mark.alone

LONGEST_TRANSACTION = 0.5  # seconds
LOOP_SECONDS = 1.0  # of processor time
GROWTH_BYTES = 64 * 2**20
ANSWERED_SECONDS = 2.0  # by when another request is answered


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
    loops = [time.pthread_getcpuclockid(thread) for thread in service.loop_threads]
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before, began = memory("VmRSS"), [time.clock_gettime(loop) for loop in loops]
    with Transactions(service.database.backend.reading).watching() as transactions:
        yield cost
    cost.transaction = transactions.longest
    ended = [time.clock_gettime(loop) for loop in loops]
    cost.loop = max(end - begin for begin, end in zip(began, ended, strict=True))
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


def has_body(route: Any) -> bool:
    return getattr(route, "body_field", None) is not None


@pytest.mark.verify
def test_no_body_of_the_largest_size_takes_everything(service: InProcess, world: World) -> None:
    """Each route gets bodies of as many bytes as it takes: valid ones where they can be so large.

    The others are filled with spaces, or have very many wrong fields.
    """
    faults: dict[str, Any] = {}
    for name, route in operations(service):
        if not has_body(route) or name in WAITING:
            continue
        size = route.max_bytes(service.settings)
        first = BODIES[name][0](world)
        bodies: list[tuple[Sent, bytes]] = [
            (first, wide(size, lambda number: f'"k{number:08}":0', "{}")),
            (first, wide(size, lambda number: f'"k{number:028}":0', "{}")),
            (first, wide(size, lambda number: "[]", "[]")),
            (first, json.dumps(first.body).encode().ljust(size)),
        ]
        for sent in LARGEST.get(name, ()):
            request = sent(world)
            bodies.append((request, json.dumps(request.body).encode()))
            request.body = None
        method, _, template = name.partition(" ")
        for number in range(len(bodies)):
            request, content = bodies[number]
            bodies[number] = (request, b"")
            assert len(content) <= size, (name, number)
            path = request.fill(template, world.names)
            client = service.worker if path.startswith("/v1/worker/") else service.user
            headers = {**request.headers, "content-type": "application/json"}
            with measured(service) as cost:
                status = drained(client, method, path, request.query, content, headers)
            assert status < 300 if number > 3 else 200 <= status < 500, (name, number, status)
            if cost.faults:
                faults[f"{name} {number}"] = (status, cost.faults)
    assert faults == {}


def wide(size: int, item: Callable[[int], str], brackets: str) -> bytes:
    """Returns a JSON document of nearly so many bytes: an object or array with very many items."""
    each = len(item(0)) + 1
    items = ",".join(item(number) for number in range((size - 2) // each))
    return f"{brackets[0]}{items}{brackets[1]}".encode()


@pytest.mark.verify
def test_a_sweep_of_large_specs_adds_its_jobs_in_short_transactions(
    service: InProcess, world: World
) -> None:
    spec = precise_spec(world).body
    replicas = {**sweep([0.1], spec), "seeds": [*range(12)]}
    with measured(service) as cost:
        begun = service.user.post("/v1/sweeps", json=replicas, timeout=120).json()
        query: dict[str, str | int] = {"q": f"group:{begun['id']}", "count": "true", "page_size": 1}

        def jobs() -> int:
            total: int = service.user.get("/v1/jobs", params=query).json()["total"]
            return total

        eventually(lambda: jobs() == len(replicas["seeds"]), seconds=120)
    assert cost.transaction <= LONGEST_TRANSACTION
    assert cost.loop <= LOOP_SECONDS
    with measured(service) as cost:  # a list has no specs
        listed = service.user.get("/v1/jobs", params={"q": f"group:{begun['id']}"}).json()["jobs"]
    assert len(listed) == len(replicas["seeds"])
    assert cost.growth < len(json.dumps(spec))
    service.user.post(f"/v1/sweeps/{begun['id']}/stop", params={"running": "cancel"})


@pytest.mark.verify
def test_curves_of_a_job_with_very_many_values_do_not_grow_the_service(
    service: InProcess, world: World
) -> None:
    job_id = world.add_import(archive(35_000, values=200))
    for scope in ("epoch", "step"):
        with measured(service) as cost:
            query = {"jobs": job_id, "scope": scope, "points": 1000}
            assert drained(service.user, "GET", "/v1/metrics", query, None, {}) == 200
        assert cost.faults == []


def test_the_largest_body_of_each_route_is_described(service: InProcess) -> None:
    with_body = {name for name, route in operations(service) if has_body(route)}
    assert with_body - {*BODIES} - WAITING == set()


@pytest.mark.verify
def test_an_upload_of_a_gigabyte_takes_no_memory_and_delays_nobody(
    service: InProcess, world: World
) -> None:
    part, parts = os.urandom(2**20), 1024
    digest = hashlib.sha256()
    for _ in range(parts):
        digest.update(part)
    announced = {"size": parts * len(part), "sha256": digest.hexdigest()}
    path = f"/v1/uploads/{service.user.post('/v1/uploads', json=announced).json()['id']}"
    headers = {
        "upload-offset": "0",
        "content-type": "application/octet-stream",
        "content-length": str(announced["size"]),
    }
    slowest = 0.0
    with measured(service) as cost, ThreadPoolExecutor(1) as beside:
        content = itertools.repeat(part, parts)
        sending = beside.submit(
            service.user.patch, path, content=content, headers=headers, timeout=300
        )
        while not sending.done():
            began = time.monotonic()
            assert service.user.get("/v1/jobs").status_code == 200
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.01)
    assert sending.result().status_code == 204
    assert service.user.delete(path).status_code == 204
    assert cost.growth <= GROWTH_BYTES
    assert cost.transaction <= LONGEST_TRANSACTION
    assert slowest <= ANSWERED_SECONDS


@pytest.mark.sample(0)
def test_no_request_takes_everything(service: InProcess, world: World) -> None:
    faults: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for name, _ in operations(service):
        if name in WAITING:
            continue
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
        method, path, params=query, content=content, headers=headers, timeout=300
    ) as response:
        for _ in response.iter_bytes():
            pass
        return response.status_code
