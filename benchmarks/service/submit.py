"""Measure how long a submission takes, and when its wake-up is in Redis for an agent.

    python -m benchmarks.service submit --jobs 300

One connection, one submission after the other. Each job is durable (one commit with fsync),
authenticated, and has an idempotency key.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
import threading
import time
from pathlib import Path

import redis
import yaml

from benchmarks.common import command_line
from benchmarks.common.tables import ROOT, Row, finish
from benchmarks.service.clients import percentiles
from benchmarks.service.systems.ipulse import IpulseSystem
from benchmarks.service.systems.system import JSON
from ipulse.stack.redis_server import socket_path
from ipulse_core import messages


class Arrivals(threading.Thread):
    """Takes the wake-ups out of Redis as an agent would, and records when each arrives."""

    def __init__(self, socket: Path) -> None:
        super().__init__(daemon=True)
        self._redis = redis.Redis(unix_socket_path=str(socket))
        self._changed = threading.Condition()
        self._times: dict[str, float] = {}

    def run(self) -> None:
        """Record arrivals until the process ends."""
        while True:
            popped = self._redis.brpop([messages.queue_of("cpu")])
            now = time.perf_counter()
            assert popped is not None  # without a timeout it waits
            arguments, *_ = json.loads(base64.b64decode(json.loads(popped[1])["body"]))
            with self._changed:
                self._times[arguments[0]] = now
                self._changed.notify_all()

    def wait_for(self, job_id: str) -> float:
        """Return when a job's wake-up arrived. Raises SystemExit after 10 s."""
        with self._changed:
            if not self._changed.wait_for(lambda: job_id in self._times, timeout=10):
                raise SystemExit(f"no wake-up arrived for {job_id}")
            return self._times[job_id]


def measure(home: Path, jobs: int, warm_up: int) -> list[Row]:
    """Return a row for the answer, for the wake-up, and for an fsync of this disk."""
    spec = json.dumps(yaml.safe_load((ROOT / "examples" / "digits.yaml").read_text())).encode()
    answered: list[float] = []
    arrived: list[float] = []
    with IpulseSystem(home) as system, system.http() as http:
        arrivals = Arrivals(socket_path(home / "redis"))
        arrivals.start()
        for index in range(warm_up + jobs):
            key = system.submission().headers["idempotency-key"]
            began = time.perf_counter()
            response = http.post("/v1/jobs", content=spec, headers={**JSON, "idempotency-key": key})
            ended = time.perf_counter()
            assert response.status_code == 202, response.text
            arrival = arrivals.wait_for(response.json()["id"])
            if index >= warm_up:
                answered.append((ended - began) * 1000)
                arrived.append((arrival - began) * 1000)
    figures = {
        "answer": answered,
        "wake-up in Redis": arrived,
        "fsync of 4 KiB": fsyncs(home, jobs),
    }
    load = os.getloadavg()[0]
    return [
        {"until": name, "jobs": jobs, **percentiles(times), "load_average": load}
        for name, times in figures.items()
    ]


def fsyncs(home: Path, count: int) -> list[float]:
    """Return the milliseconds of appending 4 KiB with fsync, which every submission needs."""
    times = []
    with (home / "probe").open("wb", buffering=0) as file:
        for _ in range(count):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            times.append((time.perf_counter() - began) * 1000)
    return times


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service submit", __doc__)
    parser.add_argument("--jobs", type=int, default=300, help="(%(default)s)")
    parser.add_argument("--warm-up", type=int, default=20, help="jobs before them (%(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        rows = measure(Path(directory) / "home", options.jobs, options.warm_up)
    finish(rows, options.output)
