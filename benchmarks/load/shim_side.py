"""The bare service of `shim`, with one of several queues behind it, as anybody would start it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import redis

from benchmarks.load.payload import Order
from benchmarks.load.programs import ROOT
from benchmarks.load.restartable_side import RestartableSide
from benchmarks.load.side import Call, free_port
from ipulse.stack.redis_server import RedisServer

MODULE = "benchmarks.load.shim"
JSON = {"content-type": "application/json"}
ROW = "the row survives kill -9 (one fsync a commit); a crash between row and message loses the job"
NO_KEY = "no key, no authentication"


class ShimSide(RestartableSide):
    """Celery's defaults: a message is forgotten when a worker takes it."""

    name = "bare Celery"
    promise = f"{ROW}, as does a killed worker; {NO_KEY}"
    health = "/jobs?limit=1"
    front, back = "api", "worker"
    parallel = 2
    queue = "celery"
    worker_command = (
        *("celery", "-A", f"{MODULE}.celery_queue:queue", "worker"),
        *("--concurrency", "2", "--loglevel", "warning"),
    )

    def __init__(self, home: Path, python: Path = Path(sys.executable)) -> None:
        super().__init__(home)
        self.python = python

    def start(self) -> None:
        broker = self.broker()
        self._environment = {
            "SHIM_HOME": str(self.home),
            "SHIM_QUEUE": self.queue,
            "SHIM_BROKER": broker.url,
            **self.more_environment(broker),
        }
        self.start_service()

    def launch_service(self) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        options = ["--port", str(port), "--no-access-log"]
        command = ["uvicorn", f"{MODULE}.api:api", *options]
        self.run(self.front, command, self._environment, self.python)

    def more_environment(self, broker: RedisServer) -> dict[str, str]:
        """Prepares the queue; what it has to be told besides."""
        return {}

    def start_worker(self) -> None:
        self.run(self.back, list(self.worker_command), self._environment, self.python)

    def submission(self, order: Order = Order()) -> Call:  # noqa: B008 - it is frozen
        return Call("POST", "/jobs", json.dumps(order.to_json()).encode(), JSON)

    def status(self, job: str) -> Call:
        return Call("GET", f"/jobs/{job}")

    def newest(self) -> Call:
        return Call("GET", "/jobs?limit=100")

    def log(self, http: httpx.Client, job: str) -> str:
        return http.get(f"/jobs/{job}/log").raise_for_status().text

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

    @contextlib.contextmanager
    def uploading(self, path: Path) -> Iterator[Callable[[], object]]:
        with self.http() as http, path.open("rb") as file:
            yield lambda: http.put("/file", content=file).raise_for_status()


class DurableCelery(ShimSide):
    """What Celery can be told, so that a message lasts until its task is done."""

    name = "bare Celery, durable"
    promise = (
        f"{ROW}; a killed worker's message is delivered again (late acknowledgement, Redis with an "
        f"fsync a write), after an hour if the whole worker died; {NO_KEY}"
    )

    def more_environment(self, broker: RedisServer) -> dict[str, str]:
        with redis.Redis(unix_socket_path=str(broker.socket)) as client:
            client.config_set("appendfsync", "always")
        return {"SHIM_DURABLE": "1"}


class HueyShim(ShimSide):
    name = "bare Huey"
    promise = f"{ROW}, as does a killed worker (a message is gone when it is taken); {NO_KEY}"
    queue = "huey"
    worker_command = (
        *("huey.bin.huey_consumer", f"{MODULE}.huey_queue.queue"),
        *("-w", "2", "-k", "process"),
    )


class ProcrastinateShim(ShimSide):
    name = "bare Procrastinate"
    promise = (
        f"{ROW}; the message is a row of PostgreSQL (one fsync a commit); a killed worker's job "
        f"stays as it is until somebody asks for it again; {NO_KEY}"
    )
    queue = "procrastinate"
    app = ("procrastinate", "--app", f"{MODULE}.procrastinate_queue.queue")
    worker_command = (*app, "worker", "--concurrency", "2")

    def __init__(self, home: Path, python: Path, database_url: str) -> None:
        super().__init__(home, python)
        self._database_url = database_url

    def more_environment(self, broker: RedisServer) -> dict[str, str]:
        told = {"SHIM_DATABASE": self._database_url}
        environment = {**os.environ, "SHIM_HOME": str(self.home), **told}
        subprocess.run(
            [self.python, "-m", *self.app, "schema", "--apply"],
            cwd=ROOT,
            env=environment,
            check=True,
            capture_output=True,
        )
        return told
