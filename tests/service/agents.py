"""An agent as the service sees it: claims a job and says what an attempt says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

PHASES = ("prepare", "compile", "acquire", "run", "report")
METRIC = {"kind": "metric", "epoch": 1, "epochs": 2, "step": 3, "steps": 6, "values": {"loss": 0.5}}


def phase(name: str) -> dict[str, Any]:
    return {"kind": "phase", "phase": name}


def line(text: str) -> dict[str, Any]:
    return {"kind": "log", "message": text}


class Attempt:
    """A claimed attempt; every method is one request and returns its response."""

    def __init__(self, worker: httpx.Client, claim: dict[str, Any]) -> None:
        self._worker = worker
        self.claim = claim
        self.fence = claim["fence"]
        self.next = 1

    @property
    def path(self) -> str:
        return f"/v1/worker/attempts/{self.claim['attempt_id']}"

    def post(self, what: str, body: Any) -> httpx.Response:
        headers = {"ipulse-fence": self.fence}
        return self._worker.post(f"{self.path}/{what}", json=body, headers=headers)

    def heartbeat(self) -> httpx.Response:
        return self.post("heartbeat", {})

    def orders(self, wait: int) -> httpx.Response:
        headers = {"ipulse-fence": self.fence, "prefer": f"wait={wait}"}
        return self._worker.get(self.path, headers=headers, timeout=60.0)

    def report(self, *events: dict[str, Any]) -> httpx.Response:
        response = self.post("events", {"first": self.next, "events": list(events)})
        if response.status_code == 200:
            self.next = response.json()["next"]
        return response

    def put(
        self,
        name: str,
        role: str,
        content: bytes = b"{}",
        announced: Mapping[str, str | int] | None = None,
        sent: bytes | Iterator[bytes] | None = None,
        offset: int | None = None,
    ) -> httpx.Response:
        """`sent` is what goes over the line of `content`, from `offset` on."""
        headers = {"ipulse-fence": self.fence}
        if offset is not None:
            headers["upload-offset"] = str(offset)
        return self._worker.request(
            "PUT" if offset is None else "PATCH",
            f"{self.path}/artifacts/{name}",
            params=self._query(role, content, announced),
            content=content if sent is None else sent,
            headers=headers,
        )

    def arrived(self, name: str, role: str, content: bytes) -> str:
        """Return how many bytes the service stored of an interrupted upload."""
        path = f"{self.path}/artifacts/{name}"
        query = self._query(role, content, None)
        response = self._worker.head(path, params=query, headers={"ipulse-fence": self.fence})
        return response.headers["upload-offset"]

    @staticmethod
    def _query(
        role: str, content: bytes, announced: Mapping[str, str | int] | None
    ) -> dict[str, str | int]:
        return {
            "role": role,
            "sha256": hashlib.sha256(content).hexdigest(),
            "size": len(content),
            "media_type": "application/json",
            **(announced or {}),
        }

    def finish(self, reason: str, message: str = "", **summary: float) -> httpx.Response:
        return self.post("finish", {"reason": reason, "message": message, "summary": summary})

    def complete(self) -> dict[str, Any]:
        """Goes through all the phases and leaves a manifest; returns the job."""
        for name in PHASES:
            assert self.report(phase(name)).status_code == 200
        assert self.put("manifest.json", "manifest").status_code == 201
        response = self.finish("completed", accuracy=0.97)
        assert response.status_code == 200, response.text
        job: dict[str, Any] = response.json()
        return job
