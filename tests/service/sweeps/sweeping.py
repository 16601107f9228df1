"""Sweeps as a client makes them, and an agent that does their jobs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.service.agents import Attempt, phase
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

RATE = "/training/optimizer/learning_rate"
NEURONS = "/network/layers/0/neurons"
GRID = {RATE: {"values": [0.1, 0.01, 0.001]}, NEURONS: {"values": [4, 8]}}


def config(**changes: Any) -> dict[str, Any]:
    return {"sweep": "rates", "spec": SPEC, "parameters": GRID, **changes}


def create(service: InProcess, **changes: Any) -> dict[str, Any]:
    response = service.user.post("/v1/sweeps", json=config(**changes))
    assert response.status_code == 201, response.text
    sweep: dict[str, Any] = response.json()
    return sweep


def refused(service: InProcess, **changes: Any) -> list[tuple[str, str]]:
    """Pointer and detail of each problem."""
    response = service.user.post("/v1/sweeps", json=config(**changes))
    problem = check_problem(response, 422)
    return [(error["pointer"], error["detail"]) for error in problem["errors"]]


def sweep_of(service: InProcess, sweep_id: str) -> dict[str, Any]:
    response = service.user.get(f"/v1/sweeps/{sweep_id}")
    assert response.status_code == 200, response.text
    sweep: dict[str, Any] = response.json()
    return sweep


def trials_of(service: InProcess, sweep_id: str) -> list[dict[str, Any]]:
    response = service.user.get(f"/v1/sweeps/{sweep_id}/trials")
    assert response.status_code == 200, response.text
    trials: list[dict[str, Any]] = response.json()["trials"]
    return trials


def begun(service: InProcess, sweep_id: str, count: int) -> list[dict[str, Any]]:
    """The trials, once so many have begun."""
    eventually(lambda: len(trials_of(service, sweep_id)) >= count)
    return trials_of(service, sweep_id)


def succeed(attempt: Attempt, accuracy: float, epochs: tuple[float, ...] = ()) -> None:
    events = [phase(name) for name in ("prepare", "compile", "acquire", "run")]
    for number, value in enumerate(epochs, 1):
        metric = {"kind": "metric", "epoch": number, "epochs": len(epochs), "step": number}
        values = {"test_accuracy": value}
        events.append({**metric, "steps": len(epochs), "scope": "epoch", "values": values})
    assert attempt.report(*events, phase("report")).status_code == 200
    assert attempt.put("manifest.json", "manifest").status_code == 201
    assert attempt.finish("completed", "", test_accuracy=accuracy).status_code == 200


def run_all(service: InProcess, sweep_id: str, accuracy: Callable[[dict[str, Any]], float]) -> None:
    """An agent that does every job of a sweep until it ends."""
    while sweep_of(service, sweep_id)["state"] != "ended":
        for trial in trials_of(service, sweep_id):
            for job in trial["jobs"]:
                if job["state"] == "queued":
                    succeed(service.attempt(job["id"]), accuracy(service.job(job["id"])["spec"]))
        time.sleep(0.03)
