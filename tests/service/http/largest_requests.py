"""The largest requests of users and agents, by operation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.service.datasets.uploading import announce, send
from tests.service.large_documents import archive
from tests.service.running import SPEC, InProcess


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
