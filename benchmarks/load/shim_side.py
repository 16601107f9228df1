"""The bare Celery service of `celery_shim`, as anybody would start it."""

from __future__ import annotations

import json
import socket
import sqlite3
from pathlib import Path

from benchmarks.load.side import Call, Side

MODULE = "benchmarks.load.celery_shim"
SPEC = json.dumps({"version": 1, "name": "load", "network": {"layers": [{"neurons": 4}]}}).encode()
JSON = {"content-type": "application/json"}


class ShimSide(Side):
    """Celery's defaults: a message is forgotten when a worker takes it."""

    name = "bare Celery"
    promise = (
        "the row survives kill -9 (one fsync a commit); a crash between row and message loses the "
        "job, as does a killed worker; no key, no authentication"
    )
    health = "/jobs?limit=1"
    front, back = "api", "worker"

    def start(self) -> None:
        broker = self.broker()
        self._environment = {"SHIM_HOME": str(self.home), "SHIM_BROKER": broker.url}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        options = ["--port", str(port), "--no-access-log"]
        self.run(self.front, ["uvicorn", f"{MODULE}:api", *options], self._environment)
        self.await_health()

    def look_for_url(self) -> None:
        """It was told its port."""

    def start_worker(self) -> None:
        options = ["worker", "--concurrency", "2", "--loglevel", "warning"]
        self.run(self.back, ["celery", "-A", f"{MODULE}:queue", *options], self._environment)

    def submission(self) -> Call:
        return Call("POST", "/jobs", SPEC, JSON)

    def status(self, job: str) -> Call:
        return Call("GET", f"/jobs/{job}")

    def newest(self) -> Call:
        return Call("GET", "/jobs?limit=100")

    def multiply(self, job: str, count: int) -> None:
        with sqlite3.connect(self.home / "jobs.db") as connection:
            connection.execute(
                "with recursive number(n) as (select 1 union all select n + 1 from number where"
                " n < ?) insert into job(id, state, spec, created, ended) select"
                " lower(hex(randomblob(16))), state, spec, created, ended from job, number"
                " where id = ?",
                (count, job),
            )

    def keep_file(self, path: Path) -> Call:
        """Makes a file of ours the one that `GET /file` gives out."""
        (self.home / "file").symlink_to(path)
        return Call("GET", "/file")
