"""The real service as a process, and an agent that the test plays."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from ipulse.stack import tls
from ipulse_core import messages
from tests import local_agents

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120.0  # on a busy machine


class LiveService:
    """`python -m ipulse_service` on a free port. Its broker is never there: the tests are the
    agents."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        file = home / "token"
        file.write_text(secrets.token_urlsafe(32))
        file.chmod(0o600)
        environment = {
            **os.environ,
            "IPULSE_HOME": str(home),
            "IPULSE_PORT": "0",
            "IPULSE_LEASE_SECONDS": "120",
            **settings,
        }
        self._log = open(home / "service.log", "wb")  # noqa: SIM115  # closed with the service
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ipulse_service"], cwd=ROOT, env=environment, stderr=self._log
        )
        self.url = self._wait_for_url()

    @property
    def token(self) -> str:
        return (self.home / "token").read_text()

    def agent(self, name: str = "scripted") -> Agent:
        return Agent(self.url, local_agents.token(self.home, name), name)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=START_SECONDS)
        self._log.close()

    def __enter__(self) -> LiveService:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _wait_for_url(self) -> str:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            try:
                return str(json.loads((self.home / "server.json").read_text())["url"])
            except FileNotFoundError:
                time.sleep(0.02)
        self.stop()
        raise AssertionError((self.home / "service.log").read_text())


class Agent:
    """Speaks the workers' API."""

    def __init__(self, url: str, token: str, name: str) -> None:
        self.name = name
        headers = {
            "Authorization": f"Bearer {token}",
            messages.PROTOCOL_HEADER: str(messages.PROTOCOL),
        }
        trusted = tls.machines_trust()
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=START_SECONDS, verify=trusted
        )

    def register(self) -> None:
        """Is present, as a worker that waits for jobs."""
        body = {"agent": self.name, "device_kinds": ["cpu"]}
        self._http.post("/v1/worker/agents", json=body).raise_for_status()

    def sign_off(self) -> None:
        """Is not present any more, as a worker that ends."""
        body = {"agent": self.name}
        self._http.post("/v1/worker/sign-off", json=body).raise_for_status()

    def claim(self, job_id: str) -> Attempt:
        """Claims until it is this job's turn, and keeps what earlier tests left in the queue."""
        while True:
            claimed, attempt = self.claim_next(job_id)
            if claimed == job_id:
                return attempt

    def claim_next(self, job_id: str) -> tuple[str, Attempt]:
        """Claims the first job of the queue, in which this one waits; returns its id, too."""
        body = {"job_id": job_id, "agent": self.name, "device_kinds": ["cpu"]}
        answer = self._http.post("/v1/worker/claims", json=body)
        answer.raise_for_status()
        claimed = answer.json()
        return claimed["job_id"], Attempt(self._http, claimed)

    def close(self) -> None:
        self._http.close()


class Attempt:
    """A claimed attempt, and what it says."""

    def __init__(self, http: httpx.Client, claimed: dict[str, Any]) -> None:
        self._http = http
        self._path = f"/v1/worker/attempts/{claimed['attempt_id']}"
        self._headers = {"IPUlse-Fence": claimed["fence"]}
        self._next = 1

    def report(self, *events: dict[str, Any]) -> None:
        body = {"first": self._next, "events": list(events)}
        self._post("events", body)
        self._next += len(events)

    def metric(self, step: int, steps: int = 10, **values: float) -> None:
        metric = {"kind": "metric", "epoch": 1, "epochs": 1, "step": step, "steps": steps}
        self.report({**metric, "values": values, "eta_seconds": 1.5})

    def heartbeat(self) -> dict[str, Any]:
        answer = self._post("heartbeat", {})
        orders: dict[str, Any] = answer.json()
        return orders

    def store(self, name: str, role: str, content: bytes) -> None:
        described: dict[str, Any] = {
            "role": role,
            "sha256": hashlib.sha256(content).hexdigest(),
            "size": len(content),
        }
        answer = self._http.put(
            f"{self._path}/artifacts/{name}",
            params=described,
            headers=self._headers,
            content=content,
        )
        answer.raise_for_status()

    def finish(self, reason: str = "completed", message: str = "", **summary: float) -> None:
        self._post("finish", {"reason": reason, "message": message, "summary": summary})

    def run(self, contents: dict[str, bytes], lines: list[str]) -> None:
        """A whole attempt: every phase, some log lines, some artifacts, success."""
        for phase in ("prepare", "compile", "acquire", "run"):
            self.report({"kind": "phase", "phase": phase})
        if lines:
            self.report(*({"kind": "log", "message": line} for line in lines))
        self.metric(10, accuracy=0.5)
        self.report({"kind": "phase", "phase": "report"})
        for name, content in contents.items():
            self.store(name, name.partition(".")[0], content)
        self.finish(test_accuracy=0.975)

    def _post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        answer = self._http.post(f"{self._path}/{path}", json=body, headers=self._headers)
        answer.raise_for_status()
        return answer
