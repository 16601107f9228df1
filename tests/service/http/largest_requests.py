"""The largest requests of users and agents, by operation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ipulse.sweeps.config import MAX_TRIALS
from ipulse_core.messages import EVENTS_PER_COMMIT, MAX_DATA_SETS
from ipulse_core.worker_faults import MAX_MESSAGE
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
        return re.sub(r"\{(\w+)(:\w+)?\}", lambda match: known.get(match[1], "x"), template)


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


def precise_spec(_: World) -> Sent:
    """A spec of 3.9 MB: three numbers with all their digits for each of 65,000 neurons."""
    decays = [round(0.3 + number * 9.01234567e-8, 17) for number in range(65_000)]
    layer = {
        "neurons": len(decays),
        "decay": decays,
        "threshold": [1 + decay for decay in decays],
        "second_threshold": [decay / 3 for decay in decays],
    }
    return Sent({**SPEC, "network": {"layers": [layer]}})


def many_large_specs(_: World) -> Sent:
    spec = {**SPEC, "metadata": {f"label-{number}": "x" * 500 for number in range(16)}}
    return Sent({"jobs": [{"spec": spec}] * 500})


def largest_events(world: World) -> Sent:
    events = [{"kind": "log", "message": "x" * 780}] * 10_000
    return Sent({"first": 1, "events": events}, headers={"ipulse-fence": world.names["fence"]})


def last_events(world: World) -> Sent:
    """As many events as may come with the end of an attempt."""
    events = [{"kind": "log", "message": "x" * 780}] * EVENTS_PER_COMMIT
    body = {"reason": "diverged", "first": 1, "events": events}
    attempt = world.service.attempt(world.service.submit()["id"])
    names = {"attempt_id": attempt.claim["attempt_id"]}
    return Sent(body, headers={"ipulse-fence": attempt.fence}, path=names)


def largest_registration(_: World) -> Sent:
    data_sets = [f"npz/{number:0>156}" for number in range(MAX_DATA_SETS)]
    remarks = {f"remark-{number}": "x" * MAX_MESSAGE for number in range(64)}
    cached = [f"{number:064x}" for number in range(1000)]
    body = {"agent": "agent-2", "device_kinds": ["cpu"], "data_sets": data_sets}
    return Sent({**body, "cached": cached, "remarks": remarks})


def largest_comparison(_: World) -> Sent:
    return Sent({"q": "state:failed or state:cancelled", "columns": ["name"] * 100})


def rates(number: int) -> list[float]:
    return [0.1 + 9.01234567e-8 * index for index in range(number)]


def sweep(values: list[float], spec: Any = SPEC) -> dict[str, Any]:
    parameters = {"/training/optimizer/learning_rate": {"values": values}}
    return {"sweep": "large", "spec": spec, "parameters": parameters, "parallel": 1}


def most_trials(_: World) -> Sent:
    return Sent(sweep(rates(MAX_TRIALS)))


def large_trials(world: World) -> Sent:
    return Sent(sweep(rates(MAX_TRIALS), precise_spec(world).body))


def grown_sweep(world: World) -> Sent:
    begun = world.service.user.post("/v1/sweeps", json=sweep([0.05])).json()
    values = {"/training/optimizer/learning_rate": rates(MAX_TRIALS - 1)}
    return Sent({"values": values}, path={"sweep_id": begun["id"]})


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
    "POST /v1/sweeps:plan": [many_trials],
    "POST /v1/datasets/{name}/versions": [small(upload_id="upl_" + "0" * 24)],
    "POST /v1/uploads": [small(size=1, sha256="0" * 64)],
    "POST /v1/pools": [small(name="n")],
    "PATCH /v1/pools/{pool}": [small(description="n")],
    "POST /v1/pools/{pool}/reservations": [
        small(project="default", agents=1, ends_at="2100-01-01T00:00:00Z")
    ],
    "POST /v1/auth/device": [small(client_id="n")],
    "POST /v1/auth/device/token": [
        small(grant_type="urn:ietf:params:oauth:grant-type:device_code", device_code="0" * 32)
    ],
    "POST /v1/auth/device/answer": [small(user_code="x", allow=True)],
    "POST /v1/tokens": [small(name="n", role="reader")],
    "PATCH /v1/tokens/{token_id}": [small(name="n")],
    "POST /v1/projects": [small(name="n")],
    "PATCH /v1/projects/{project}": [small(description="n")],
    "PUT /v1/projects/{project}/members/{user}": [small(role="member")],
    "PATCH /v1/projects/{project}/quotas": [small(limits={"devices": 1})],
    "PATCH /v1/users/{user}/quotas": [small(limits={"devices": 1})],
    "POST /v1/users": [small(name="n")],
    "PATCH /v1/users/{user}": [small(full_name="n")],
    "POST /v1/join-tokens": [small(name="n")],
    "POST /v1/webhooks": [small(url="https://example.org/", name="n")],
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
# Valid bodies of nearly as many bytes as the routes take, which need a minute.
LARGEST: dict[str, list[Callable[[World], Sent]]] = {
    "POST /v1/jobs": [precise_spec],
    "POST /v1/jobs:validate": [precise_spec],
    "POST /v1/jobs:plan": [precise_spec],
    "POST /v1/jobs:batch": [many_large_specs],
    "POST /v1/jobs:compare": [largest_comparison],
    "POST /v1/sweeps": [most_trials, large_trials],
    "POST /v1/sweeps:plan": [most_trials, large_trials],
    "PATCH /v1/sweeps/{sweep_id}": [grown_sweep],
    "POST /v1/worker/agents": [largest_registration],
    "POST /v1/worker/attempts/{attempt_id}/events": [largest_events],
    "POST /v1/worker/attempts/{attempt_id}/finish": [last_events],
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
