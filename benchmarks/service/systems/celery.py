"""Celery as users start it: the bare service of `shim`, with a worker of two processes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import redis

from benchmarks.service.payload import NOTHING, Order
from benchmarks.service.systems.system import JSON, Call, System, free_port

MODULE = "benchmarks.service.systems.shim"


class CelerySystem(System):
    """FastAPI, a row in SQLite and a message of Celery, with their defaults."""

    health = "/jobs?limit=1"
    front, back = "api", "worker"

    def __init__(self, home: Path, durable: bool = False) -> None:
        super().__init__(home)
        self._durable = durable
        self.name = "bare Celery, durable" if durable else "bare Celery"

    def start(self) -> None:
        """Start Redis and the API."""
        broker = self.broker()
        self._environment = {"SHIM_HOME": str(self.home), "SHIM_BROKER": broker.url}
        if self._durable:
            with redis.Redis(unix_socket_path=str(broker.socket)) as client:
                client.config_set("appendfsync", "always")
            self._environment["SHIM_DURABLE"] = "1"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = ["uvicorn", f"{MODULE}.api:api", "--port", str(port), "--no-access-log"]
        self.run(self.front, command, self._environment)
        self.await_health()

    def start_worker(self) -> None:
        """Start Celery's worker."""
        options = ["--concurrency", "2", "--loglevel", "warning"]
        command = ["celery", "-A", f"{MODULE}.celery_queue:queue", "worker", *options]
        self.run(self.back, command, self._environment)

    def submission(self, order: Order = NOTHING) -> Call:
        """Return a submission."""
        return Call("POST", "/jobs", json.dumps(order.to_json()).encode(), JSON)

    def status(self, job: str) -> Call:
        """Return the request for a job's state."""
        return Call("GET", f"/jobs/{job}")

    def newest(self) -> Call:
        """Return the request for the newest jobs."""
        return Call("GET", "/jobs?limit=100")

    def store_file(self, path: Path) -> Call:
        """Make the file the one that `GET /file` returns."""
        (self.home / "file").symlink_to(path)
        return Call("GET", "/file")

    @contextlib.contextmanager
    def uploading(self, path: Path) -> Iterator[Callable[[], object]]:
        """Yield a function that uploads the file; it is neither checked nor synced."""
        content = path.read_bytes()
        with self.http() as http:
            yield lambda: http.put("/file", content=content).raise_for_status()
