"""Ray Jobs: `ray start --head`, and the job API of its dashboard."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

import httpx

from benchmarks.service import payload
from benchmarks.service.payload import Order
from benchmarks.service.systems.system import JSON, Call, System, free_port

STATES = {"SUCCEEDED": "succeeded", "FAILED": "failed", "STOPPED": "cancelled"}


class RaySystem(System):
    """Ray Jobs. It also listens on the machine's own address: see `isolation`."""

    name = "Ray Jobs"
    health = "/api/jobs/"
    front = back = "ray"

    def start(self) -> None:
        """Start the head node, which also runs jobs."""
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
        environment = {"PATH": f"{self.python.parent}:/usr/local/bin:/usr/bin:/bin"}
        command = ["ray.scripts.scripts", "start", *flags, *given]
        self.run(self.front, command, environment)
        self.await_health()
        with self.http() as http:  # it answers before it accepts jobs
            self.await_taken(http)

    def await_taken(self, http: httpx.Client) -> None:
        """Wait until a job is accepted."""
        for _ in range(600):
            call = self.submission()
            answer = http.request(call.method, call.path, content=call.content, headers=JSON)
            if answer.is_success:
                self.await_end(http, self.id_of(answer.json()))
                return
        raise SystemExit(f"{self.name} accepts no job: {answer.text[:500]}")

    def start_worker(self) -> None:
        """Do nothing: the head node runs jobs."""

    def submission(self, order: Order = Order()) -> Call:  # noqa: B008 - it is frozen
        """Return a submission: a command line."""
        command = shlex.join(["python", str(Path(payload.__file__)), order.to_json()])
        return Call("POST", "/api/jobs/", json.dumps({"entrypoint": command}).encode(), JSON)

    def id_of(self, answer: Any) -> str:
        """Return the submission id."""
        return str(answer["submission_id"])

    def state_of(self, answer: Any) -> str:
        """Return the state in IPUlse's terms."""
        return STATES.get(answer["status"], "running")

    def status(self, job: str) -> Call:
        """Return the request for a job's state."""
        return Call("GET", f"/api/jobs/{job}")

    def newest(self) -> Call:
        """Return the request for all jobs."""
        return Call("GET", "/api/jobs/")  # there are no pages
