"""How long a submission takes: `python -m ipulse_service` with a real Redis, one open connection.

Each job is durable (one commit with its fsync), authenticated, and has an idempotency key when
its answer is sent. Also measured: how long until the wake-up lies in Redis for an agent.

    python benchmarks/submit.py [--jobs 300] [--warm 20] [--json]
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import redis
import yaml

from ipulse.stack.program_log import ProgramLog
from ipulse.stack.redis_server import RedisServer
from ipulse_core import messages

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0


@contextlib.contextmanager
def running_redis(home: Path) -> Iterator[RedisServer]:
    """The Redis that `ipulse up` would start."""
    server = RedisServer(home / "redis", ProgramLog(home / "redis.log"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def running_service(home: Path, broker: RedisServer) -> Iterator[str]:
    """`python -m ipulse_service` with fresh tokens; yields its URL."""
    for name in ("token", "worker-token"):
        (home / name).write_text(secrets.token_urlsafe(32))
    environment = {
        **os.environ,
        "IPULSE_HOME": str(home),
        "IPULSE_PORT": "0",
        "IPULSE_BROKER_URL": broker.url,
    }
    with (home / "service.log").open("wb") as log:
        service = subprocess.Popen(
            [sys.executable, "-m", "ipulse_service"], cwd=ROOT, env=environment, stderr=log
        )
        try:
            yield _wait_until_ready(home, service)
        finally:
            service.terminate()
            service.wait()


def _wait_until_ready(home: Path, service: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and service.poll() is None:
        with contextlib.suppress(FileNotFoundError, httpx.TransportError):
            url = str(json.loads((home / "server.json").read_text())["url"])
            if httpx.get(f"{url}/readyz").status_code == 200:
                return url
        time.sleep(0.02)
    raise SystemExit((home / "service.log").read_text())


class Arrivals(threading.Thread):
    """Takes the wake-ups out of Redis as an agent would, and notes when each came."""

    def __init__(self, socket_path: Path) -> None:
        super().__init__(daemon=True)
        self._redis = redis.Redis(unix_socket_path=str(socket_path))
        self._changed = threading.Condition()
        self._times: dict[str, float] = {}

    def run(self) -> None:
        while True:
            popped = self._redis.brpop([messages.queue_of("cpu")])
            now = time.perf_counter()
            assert popped is not None  # without a timeout it waits for ever
            _, message = popped
            arguments, *_ = json.loads(base64.b64decode(json.loads(message)["body"]))
            with self._changed:
                self._times[arguments[0]] = now
                self._changed.notify_all()

    def wait_for(self, job_id: str) -> float:
        with self._changed:
            if not self._changed.wait_for(lambda: job_id in self._times, timeout=10):
                raise SystemExit(f"no wake-up came for {job_id}")
            return self._times[job_id]


def measure(home: Path, jobs: int, warm: int) -> dict[str, Any]:
    """Milliseconds of `jobs` submissions, one after the other, after `warm` unmeasured ones."""
    spec = yaml.safe_load((ROOT / "examples" / "digits.yaml").read_text())
    answered: list[float] = []
    arrived: list[float] = []
    with running_redis(home) as broker, running_service(home, broker) as url:
        arrivals = Arrivals(broker.socket)
        arrivals.start()
        token = (home / "token").read_text()
        with httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}) as client:
            for index in range(warm + jobs):
                headers = {"idempotency-key": str(uuid.uuid4())}
                began = time.perf_counter()
                response = client.post("/v1/jobs", json=spec, headers=headers)
                ended = time.perf_counter()
                assert response.status_code == 202, response.text
                came = arrivals.wait_for(response.json()["id"])
                if index >= warm:
                    answered.append((ended - began) * 1000)
                    arrived.append((came - began) * 1000)
    return {
        "jobs": jobs,
        "submit_ms": _percentiles(answered),
        "submit_to_message_ms": _percentiles(arrived),
        "fsync_ms": _percentiles(_fsyncs(home, jobs)),
        "load_average": os.getloadavg()[0],
    }


def _fsyncs(home: Path, count: int) -> list[float]:
    """What one append of 4 KiB with fsync costs here: the floor under every submission."""
    times = []
    with (home / "probe").open("wb", buffering=0) as file:
        for _ in range(count):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            times.append((time.perf_counter() - began) * 1000)
    return times


def _percentiles(samples: list[float]) -> dict[str, float]:
    ordered = sorted(samples)
    return {
        name: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)
        for name, share in (("p50", 0.50), ("p99", 0.99), ("max", 1.0))
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--warm", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        figures = measure(Path(home), options.jobs, options.warm)
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{options.jobs} submissions, load average {figures['load_average']:.1f}")
    for name in ("submit_ms", "submit_to_message_ms", "fsync_ms"):
        shown = "  ".join(f"{key} {value:8.2f}" for key, value in figures[name].items())
        print(f"{name:22} {shown}")


if __name__ == "__main__":
    main()
