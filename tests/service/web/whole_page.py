"""A service on which every view has something to show, and a walk of all views of the page.

The addresses come from the page itself: from its table of routes, and from the links of the tabs
that a view has.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import insert

from ipulse_service.db import tables
from ipulse_service.news import webhooks
from ipulse_worker.runner.report.page import contained
from tests.service.agents import METRIC, PHASES, line, phase
from tests.service.conditions import eventually
from tests.service.datasets.uploading import push
from tests.service.http.routes.test_neuron_packages import DECAY, PACKAGE
from tests.service.http.routes.test_queue import announce
from tests.service.people import checked
from tests.service.profiles import profile, tiles
from tests.service.pushed_ops import coding, package, pushed
from tests.service.running import SPEC, InProcess

from .conftest import Page

SWEEP: dict[str, Any] = {
    "version": 1,
    "sweep": "all views",
    "method": "grid",
    "parallel": 4,
    "seeds": [1],
    "parameters": {
        "/training/optimizer/learning_rate": {"values": [0.001, 0.01]},
        "/network/layers/0/neurons": {"values": [4, 8]},
    },
    "objective": {"metric": "test_accuracy", "goal": "maximize"},
    "spec": {"version": 1, "network": {"layers": [{"neurons": 4}]}, "training": {"epochs": 1}},
}
EPOCHS = 2
# Returns the patterns of the page's routes but the last, which is for all other addresses.
PATTERNS = """
    const done = arguments[0];
    const main = [...document.scripts].find(({ src }) => src.endsWith("app/main.js")).src;
    import(main.replace("main.js", "routes.js")).then(({ routes }) =>
      done(routes.slice(0, -1).map(({ pattern }) => pattern)));
"""
# Counts requests that wait for their answer; streams never end.
COUNTED = """
  {
    window.requestsInFlight = 0;
    const native = window.fetch;
    window.fetch = (...given) => {
      window.requestsInFlight += 1;
      const answer = native(...given);
      answer.catch(() => null).finally(() => { window.requestsInFlight -= 1; });
      return answer;
    };
  }
"""
IS_SHOWN = """
    // the spec of a new job
    const isChecked = (view) => !("isChecking" in view) || Boolean(view.found && !view.isChecking);
    const main = document.querySelector("main");
    return Boolean(main?.querySelector("h1")) && !main.querySelector(":not(:defined), .skeleton")
      && window.requestsInFlight === 0 && isChecked(main.firstElementChild);
"""
TABS = """
    return [...document.querySelectorAll("main nav a[href]")]
      .filter(({ pathname }) => pathname.startsWith(location.pathname.split("/", 3).join("/")))
      .map(({ pathname, search }) => pathname + search);
"""


def fill(service: InProcess) -> dict[str, str]:
    """Leave something for each view; return values of a route's parameter by the word before it."""
    used = {"project": "default", "owner": "alice", "device": "ipu", "month": "2026-10"}
    with service.database.write() as transaction:
        row = {**used, "outcome": "failed", "device_ms": 3_600_000, "attempts": 2}
        transaction.connection.execute(insert(tables.usage), [row])
        url, types = "https://hooks.example.org/x", ("job.failed",)
        webhooks.create(transaction, "lab", url, "standard", types)
    checked(service.user.post("/v1/users", json={"name": "alice"}))
    checked(service.user.post("/v1/projects", json={"name": "vision"}))
    member = "/v1/projects/vision/members/alice"
    checked(service.user.put(member, json={"role": "developer"}))
    token = {"name": "a colleague", "role": "reader", "seconds": 600}
    checked(service.user.post("/v1/tokens", json=token))
    neurons = {"package": PACKAGE, "version": "dendrites 1.0", "parameters": [DECAY]}
    announce(service, "pod-1", "cpu", neuron_packages=[neurons])
    pool = {"name": "lab", "agents": ["pod-*"]}
    checked(service.user.post("/v1/pools", json=pool))
    with coding(service) as coder:
        assert pushed(coder, package()).status_code == 204
    random = np.random.default_rng(7)
    content = io.BytesIO()
    np.savez(content, spikes=random.random((20, 10, 6)) < 0.3, labels=np.arange(20) % 2)
    push(service, content.getvalue(), "from-the-lab")
    for seed in (1, 2, 3):
        trained(service, {**SPEC, "name": "compared", "seed": seed}, seed / 4)
    service.submit({**SPEC, "name": "on an IPU", "device": {"kind": "ipu"}})
    whole = trained(
        service, {**SPEC, "name": "whole", "training": {"epochs": EPOCHS}}, 0.5, files()
    )
    return {
        "jobs": whole,
        "sweeps": swept(service),
        "datasets": "from-the-lab",
        "projects": "vision",
    }


def trained(
    service: InProcess,
    spec: dict[str, Any],
    accuracy: float,
    left: dict[str, tuple[str, bytes]] | None = None,
) -> str:
    """Train a job that leaves these files, each with its role; return its id."""
    job_id = str(service.submit(spec)["id"])
    attempt = service.attempt(job_id)
    attempt.report(*map(phase, PHASES[:-1]), line("begins"))
    for epoch in range(1, EPOCHS + 1):
        values = {"test_accuracy": accuracy * epoch / EPOCHS, "test_loss": 1 / epoch}
        facts = {"epoch": epoch, "step": 3 * epoch, "values": values}
        attempt.report({**METRIC, **facts, "scope": "epoch"})
    attempt.report(phase("report"))
    for name, (role, content) in {"manifest.json": ("manifest", b"{}"), **(left or {})}.items():
        assert attempt.put(name, role, content).status_code in (200, 201)
    assert attempt.finish("completed", test_accuracy=accuracy).status_code == 200
    return job_id


def files() -> dict[str, tuple[str, bytes]]:
    """The files of a job of which every tab shows something."""
    span = {"ph": "X", "name": "prepare", "ts": 0, "dur": 5000, "pid": 1, "tid": 1}
    measured = profile()
    measured["memory"] |= {
        name: {"bytes": 4096, "how": "computed"}
        for name in ("weights", "optimizer", "savedForBackward")
    }
    report = contained("whole", '<p class="over">IPUlse</p><h1>whole</h1>')
    return {
        "report.html": ("report", report.encode()),
        "profile.json": ("profile", json.dumps(measured).encode()),
        "poplar_profile.json": ("poplar_profile", json.dumps(tiles(ipus=2)).encode()),
        "trace.json.gz": ("trace", gzip.compress(json.dumps({"traceEvents": [span]}).encode())),
        "spikes.json": ("spikes", json.dumps(spikes()).encode()),
    }


def spikes() -> dict[str, Any]:
    """One stored sample of 10 steps, of 6 channels and a layer of 4 neurons."""
    steps = list(range(10))
    sample = {
        "sample": 3,
        "label": 1,
        "predicted": 0,
        "spikes": [
            {"steps": steps, "neurons": [step % 6 for step in steps]},
            {"steps": steps[::2], "neurons": [step % 4 for step in steps[::2]]},
        ],
        "readout_membrane": [[0.1 * step for step in steps], [0.5 for _ in steps]],
    }
    layer = {"layer": 1, "name": None, "neurons": 4, "firing_rates": [0, 0.1, 0.2, 0.9]}
    return {
        "step_ms": 1,
        "steps": 10,
        "measured_samples": 20,
        "input": {"channels": 6},
        "layers": [{**layer, "dead": [0], "saturated": [3]}],
        "samples": [sample, {**sample, "sample": 4, "predicted": 1}],
    }


def swept(service: InProcess) -> str:
    """Train two trials of a sweep of four; return the sweep's id."""
    created = checked(service.user.post("/v1/sweeps", json=SWEEP))
    path = f"/v1/sweeps/{created['id']}"
    for number in (1, 2):

        def jobs(number: int = number) -> list[dict[str, Any]]:
            trials = service.user.get(f"{path}/trials").json()["trials"]
            return [job for trial in trials if trial["number"] == number for job in trial["jobs"]]

        [job] = eventually(jobs)
        attempt = service.attempt(job["id"])
        attempt.report(*map(phase, PHASES))
        attempt.put("manifest.json", "manifest")
        assert attempt.finish("completed", test_accuracy=number / 8).status_code == 200
    return str(created["id"])


def patterns(page: Page) -> list[str]:
    """Return the patterns of the page's own table of routes, such as `/jobs/:id/:tab?`."""
    page.open("/device")
    page.find("main h1")
    found: list[str] = page.driver.execute_async_script(PATTERNS)
    return found


def address(pattern: str, values: dict[str, str]) -> str:
    """Return an address of a pattern; a tab is left out, its view links to it.

    Raises:
        KeyError: the parameter of a new view has no value in `fill`.
    """
    parts: list[str] = []
    for part in pattern.split("/")[1:]:
        if part == ":tab?":
            continue
        parts.append(values[parts[-1]] if part.startswith(":") else part)
    return "/" + "/".join(parts)


def shown(page: Page, path: str) -> None:
    """Open an address, and wait until its view shows all that it loads."""
    page.open(path)
    page.until(lambda: page.driver.execute_script(IS_SHOWN))


def views(page: Page, values: dict[str, str]) -> Iterator[str]:
    """Open one view after the other, with each of its tabs and their parts."""
    paths = [address(each, values) for each in patterns(page)]
    for path in paths:  # grows
        shown(page, path)
        found: list[str] = page.driver.execute_script(TABS)
        paths += [each for each in dict.fromkeys(found) if each not in paths]
        yield path
