"""Some jobs that a search may find."""

from __future__ import annotations

import copy
import secrets
from typing import Any

import httpx

from tests.service.running import SPEC, InProcess


def spec(rate: float = 0.001, seed: int = 0, neurons: int = 4, **more: Any) -> dict[str, Any]:
    changed = copy.deepcopy(SPEC)
    changed["training"] = {"optimizer": {"kind": "adam", "learning_rate": rate}}
    changed["network"]["layers"] = [{"neurons": neurons}, {"neurons": 8, "second_threshold": 0.5}]
    return {**changed, "seed": seed, **more}


def submit(service: InProcess, document: dict[str, Any], **query: Any) -> str:
    response = service.user.post("/v1/jobs", json=document, params=query)
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


def metric(epoch: int, scope: str = "epoch", **values: float) -> dict[str, Any]:
    steps = {"epoch": epoch, "epochs": 9, "step": 10 * epoch, "steps": 90}
    return {"kind": "metric", **steps, "scope": scope, "values": values}


def train(
    service: InProcess, job_id: str, accuracies: list[float], kept: int | None = None
) -> None:
    """Runs a job with these test accuracies; without `kept` it does not end."""
    attempt = service.attempt(job_id)
    attempt.report({"kind": "phase", "phase": "prepare"}, {"kind": "phase", "phase": "run"})
    for epoch, accuracy in enumerate(accuracies, 1):
        values = {"test_accuracy": accuracy, "loss": 1 - accuracy, "firing_rate/1": 0.1 * epoch}
        values["learning_rate"] = 1e-4  # what a schedule leaves of the setting
        attempt.report(metric(epoch, "step", loss=7.0), metric(epoch, **values))
    if kept is not None:
        last = {"kept_epoch": kept, "epochs": len(accuracies)}
        attempt.report({"kind": "phase", "phase": "report"})
        attempt.put("manifest.json", "manifest")
        ended = attempt.finish("completed", test_accuracy=accuracies[kept - 1], **last)
        assert ended.status_code == 200, ended.text


class Crowd:
    """Five jobs of one group, by a short name."""

    def __init__(self, service: InProcess) -> None:
        self.service = service
        self.group = f"g{secrets.token_hex(6)}"
        given: dict[str, Any] = {"group": self.group}
        self.ids = {
            "a": submit(service, spec(0.01, 1, 128, name="digits-a"), tag=["wide", "old"], **given),
            "b": submit(service, spec(0.01, 2, 128, name="digits-b"), tag=["wide"], **given),
            "c": submit(service, spec(0.003, 1, 64, name="Größe %x_"), **given),
            "d": submit(service, spec(0.003, 2, 64, metadata={"team": "audio"}), **given),
            "e": submit(service, spec(0.1, 1, 32, name="shd"), notes="odd", **given),
        }
        self.names = {job_id: name for name, job_id in self.ids.items()}
        train(service, self.ids["a"], [0.2, 0.9, 0.8], kept=2)
        train(service, self.ids["b"], [0.5, 0.7], kept=2)
        train(service, self.ids["c"], [0.3])
        service.user.post(f"/v1/jobs/{self.ids['e']}/cancel")
        service.user.patch(f"/v1/jobs/{self.ids['c']}", json={"priority": 5})

    def get(self, q: str = "", **query: Any) -> httpx.Response:
        whole = f"group:{self.group} {f'({q})' if q else ''}"
        return self.service.user.get("/v1/jobs", params={"q": whole, **query})

    def found(self, q: str = "", **query: Any) -> str:
        response = self.get(q, **query)
        assert response.status_code == 200, response.text
        return "".join(self.names[job["id"]] for job in response.json()["jobs"])
