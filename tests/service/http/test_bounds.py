"""No request takes the write lock, the event loop or the memory from all others.

The test walks the routes of the application: a new one with a body, or with a new parameter in its
path, fails until its largest request is described here.
"""

from __future__ import annotations

import gc
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from tests.service.agents import PHASES, Attempt, phase
from tests.service.datasets.uploading import announce, send
from tests.service.large_documents import archive, profile_json
from tests.service.measures import Transactions
from tests.service.profiles import profiled_job, tiles
from tests.service.running import SPEC, InProcess

LONGEST_TRANSACTION = 0.5  # seconds
LOOP_SECONDS = 1.0  # of processor time
GROWTH_BYTES = 64 * 2**20


@dataclass
class Cost:
    """What a request cost."""

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


def largest_spec(size: int) -> dict[str, Any]:
    """Returns a valid spec of so many bytes: one weight of the loss for each of many neurons."""
    decays = [0.5] * 65_000
    spec = {**SPEC, "network": {"layers": [{"neurons": 65_000, "decay": decays}]}}
    assert len(json.dumps(spec)) < size
    return spec


@dataclass
class World:
    """Objects as large as users can make them, and their names in paths."""

    service: InProcess
    names: dict[str, str] = field(default_factory=dict)

    def add_import(self, content: bytes) -> str:
        begun = announce(self.service, content, purpose="archive").json()
        assert send(self.service, begun["id"], content).status_code == 204
        answer = self.service.user.post(
            "/v1/jobs:import", json={"upload_id": begun["id"]}, timeout=120
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


@dataclass
class Sent:
    """A request."""

    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    path: dict[str, str] = field(default_factory=dict)  # other names than those of the world

    def fill(self, template: str, names: dict[str, str]) -> str:
        known = {**names, **self.path}
        return re.sub(r"\{(\w+)(:\w+)?\}", lambda match: known[match[1]], template)


def small(**body: Any) -> Callable[[World], Sent]:
    """A body that cannot be large, because each of its fields is limited."""
    return lambda _: Sent(body)


def many_events(world: World) -> Sent:
    values = {f"metric/{number:03}": 0.123456789 for number in range(200)}
    metric = {"kind": "metric", "epochs": 9, "step": 3, "steps": 9, "values": values}
    events = [{**metric, "epoch": epoch, "scope": "epoch"} for epoch in range(1, 1_200)]
    return Sent({"first": 1, "events": events}, headers={"ipulse-fence": world.names["fence"]})


def many_lines(world: World) -> Sent:
    events = [{"kind": "log", "message": "x" * 600}] * 10_000
    return Sent({"first": 1, "events": events}, headers={"ipulse-fence": world.names["fence"]})


def whole_archive(world: World) -> Sent:
    content = archive(60_000)
    begun = announce(world.service, content, purpose="archive").json()
    assert send(world.service, begun["id"], content).status_code == 204
    return Sent({"upload_id": begun["id"]})


def many_trials(_: World) -> Sent:
    rates = [round(0.001 * n, 6) for n in range(1, 101)]
    parameters = {"/training/optimizer/learning_rate": {"values": rates}}
    return Sent({"sweep": "many", "spec": SPEC, "parameters": parameters, "parallel": 100})


# The largest bodies by operation; several are sent one after another.
BODIES: dict[str, list[Callable[[World], Sent]]] = {
    "POST /v1/jobs": [lambda _: Sent(largest_spec(4 * 2**20))],
    "POST /v1/jobs/{job_id}/continue": [small(epochs=9)],
    "POST /v1/jobs:validate": [lambda _: Sent(largest_spec(4 * 2**20))],
    "POST /v1/jobs:plan": [lambda _: Sent(largest_spec(4 * 2**20))],
    "POST /v1/jobs:import": [whole_archive],
    "POST /v1/jobs:edit": [lambda _: Sent({"group": "g", "add_tags": ["t"]}, {"all": "true"})],
    "POST /v1/jobs:compare": [lambda w: Sent({"jobs": [w.names["job_id"], w.names["logs"]]})],
    "PATCH /v1/jobs/{job_id}": [small(notes="n" * 16_384)],
    "POST /v1/jobs:batch": [lambda _: Sent({"jobs": [{"spec": SPEC}] * 500})],
    "POST /v1/sweeps": [many_trials],
    "PATCH /v1/sweeps/{sweep_id}": [small(parallel=2)],
    "POST /v1/datasets/{name}/versions": [small(upload_id="upl_" + "0" * 24)],
    "POST /v1/uploads": [small(size=1, sha256="0" * 64)],
    "POST /v1/tokens": [small(name="n", role="reader")],
    "PATCH /v1/tokens/{token_id}": [small(name="n")],
    "POST /v1/join-tokens": [small(name="n")],
    "POST /v1/agents/{name}:drain": [small(action="finish")],
    "POST /v1/worker/agents": [small(name="agent-2")],
    "POST /v1/worker/claims": [small(agent="agent-2", device_kinds=["cpu"])],
    "POST /v1/worker/join": [small()],
    "POST /v1/worker/sign-off": [small()],
    "POST /v1/worker/attempts/{attempt_id}/events": [many_events, many_lines],
    "POST /v1/worker/attempts/{attempt_id}/finish": [
        lambda w: Sent({"reason": "completed"}, headers={"ipulse-fence": w.names["fence"]})
    ],
}
QUERIES: dict[str, list[Callable[[World], Sent]]] = {
    "GET /v1/profiles:diff": [
        lambda w: Sent(query={"a": w.names["profiled"], "b": w.names["profiled"]})
    ],
    "GET /v1/profiles:copies": [lambda w: Sent(query={"job": w.names["profiled"]})],
    "GET /v1/metrics": [
        lambda w: Sent(query={"jobs": w.names["job_id"], "scope": "epoch", "points": 1000})
    ],
    "GET /v1/jobs/{job_id}/log": [lambda w: Sent(path={"job_id": w.names["logs"]})],
    "GET /v1/jobs/{job_id}/events": [
        lambda w: Sent(path={"job_id": w.names["logs"]}, query={"limit": 1000})
    ],
    "DELETE /v1/jobs/{job_id}": [lambda w: Sent(path={"job_id": w.names["logs"]})],
    "POST /v1/jobs:cancel": [lambda _: Sent(query={"all": "true"})],
    "POST /v1/jobs:delete": [lambda _: Sent(query={"all": "true"})],
    "POST /v1/jobs:pause": [lambda _: Sent(query={"all": "true"})],
    "POST /v1/jobs:finish": [lambda _: Sent(query={"all": "true"})],
    "POST /v1/jobs:resume": [lambda _: Sent(query={"all": "true"})],
}
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
def database_settings() -> dict[str, Any]:
    """SQLite, whose write lock is that of all."""
    return {}


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
