"""Ray Jobs: `ray start --head`, and the jobs' interface of its dashboard."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

import httpx

from benchmarks.load import payload
from benchmarks.load.payload import Order
from benchmarks.load.shim_side import JSON
from benchmarks.load.side import Call, Side, free_port

STATES = {"SUCCEEDED": "succeeded", "FAILED": "failed", "STOPPED": "cancelled"}


class RaySide(Side):
    """Told to stay on loopback it still binds the machine's own address: see `isolation`."""

    name = "Ray Jobs"
    promise = (
        "nothing survives the head's process, neither the job table nor the way to a log; a job "
        "whose process or node is lost is not run again; no key, no authentication"
    )
    health = "/api/jobs/"
    front = back = "ray"
    parallel = 2

    def __init__(self, home: Path, python: Path) -> None:
        super().__init__(home)
        self._python = python

    def start(self) -> None:
        session = tempfile.mkdtemp(prefix="ray", dir="/tmp")
        self._closing.callback(shutil.rmtree, session, ignore_errors=True)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        options = {
            "node-ip-address": "127.0.0.1",
            "port": str(free_port()),
            "dashboard-host": "127.0.0.1",
            "dashboard-port": str(port),
            "num-cpus": "2",
            "temp-dir": session,
        }
        given = [word for name, value in options.items() for word in (f"--{name}", value)]
        flags = ["--head", "--block", "--disable-usage-stats"]
        environment = {"PATH": f"{self._python.parent}:/usr/local/bin:/usr/bin:/bin"}
        command = ["ray.scripts.scripts", "start", *flags, *given]
        self.run(self.front, command, environment, self._python)
        self.await_health()
        with self.http() as http:  # it answers before it can take a job
            self.await_taken(http)

    def await_taken(self, http: httpx.Client) -> None:
        """Waits until a job is taken."""
        for _ in range(600):
            call = self.submission()
            answer = http.request(call.method, call.path, content=call.content, headers=JSON)
            if answer.is_success:
                self.await_end(http, self.id_of(answer.json()))
                return
        raise SystemExit(f"{self.name} takes no job: {answer.text[:500]}")

    def start_worker(self) -> None:
        """It runs already."""

    def submission(self, order: Order = Order()) -> Call:  # noqa: B008 - it is frozen
        command = shlex.join(["python", str(Path(payload.__file__)), order.to_json()])
        return Call("POST", "/api/jobs/", json.dumps({"entrypoint": command}).encode(), JSON)

    def id_of(self, answer: Any) -> str:
        return str(answer["submission_id"])

    def state_of(self, answer: Any) -> str:
        return STATES.get(answer["status"], "running")

    def status(self, job: str) -> Call:
        return Call("GET", f"/api/jobs/{job}")

    def newest(self) -> Call:
        return Call("GET", "/api/jobs/")  # there are no pages

    def log(self, http: httpx.Client, job: str) -> str:
        return str(http.get(f"/api/jobs/{job}/logs").raise_for_status().json()["logs"])
