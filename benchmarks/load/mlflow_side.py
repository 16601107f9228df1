"""MLflow: its tracking server, which keeps records of runs and their files, and runs nothing."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from benchmarks.load.payload import Order
from benchmarks.load.shim_side import JSON
from benchmarks.load.side import Call, Side, free_port

RUNS = "/api/2.0/mlflow/runs"
FILES = "/api/2.0/mlflow-artifacts/artifacts"  # through the server


class MLflowSide(Side):
    name = "MLflow"
    promise = (
        "a run's row survives kill -9 (SQLite, one fsync a commit), its files are not synced; "
        "it runs no jobs; no key, no authentication"
    )
    health = "/health"
    front = "server"

    def __init__(self, home: Path, python: Path) -> None:
        super().__init__(home)
        self._python = python

    def start(self) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        options = {
            "host": "127.0.0.1",
            "port": str(port),
            "backend-store-uri": f"sqlite:///{self.home / 'mlflow.db'}",
            "artifacts-destination": str(self.home / "artifacts"),
        }
        given = [word for name, value in options.items() for word in (f"--{name}", value)]
        environment = {
            **self.own_folders(),
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "DO_NOT_TRACK": "true",
        }
        self.run(self.front, ["mlflow", "server", *given], environment, self._python)
        self.await_health()

    def start_worker(self) -> None:
        """It has none."""

    def submission(self, order: Order = Order()) -> Call:  # noqa: B008 - it is frozen
        """A new run's record: nobody carries the order out."""
        body = {"experiment_id": "0", "start_time": int(time.time() * 1000)}
        return Call("POST", f"{RUNS}/create", json.dumps(body).encode(), JSON)

    def id_of(self, answer: Any) -> str:
        return str(answer["run"]["info"]["run_id"])

    def status(self, job: str) -> Call:
        return Call("GET", f"{RUNS}/get?run_id={job}")

    def newest(self) -> Call:
        body = {"experiment_ids": ["0"], "max_results": 100}
        return Call("POST", f"{RUNS}/search", json.dumps(body).encode(), JSON)

    def log(self, http: httpx.Client, job: str) -> str:
        """Nobody prints."""
        return ""

    def keep_file(self, path: Path) -> Call:
        """Uploads a file of ours; returns the request for it."""
        with self.uploading(path) as send:
            return Call("GET", send().request.url.path)

    @contextlib.contextmanager
    def uploading(self, path: Path) -> Iterator[Callable[[], httpx.Response]]:
        kept = f"{FILES}/file-{next(self._numbers)}"
        with self.http() as http, path.open("rb") as file:
            yield lambda: http.put(kept, content=file).raise_for_status()
