"""A job service under load: how it is started, and how a client asks it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx
import psutil

from benchmarks.submit import running_redis
from ipulse.redis_server import RedisServer

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0


@dataclass(frozen=True)
class Call:
    """One request of a client."""

    method: str
    path: str
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Side(ABC):
    """A service whose data lie in an empty directory; it runs while its context is open."""

    name: str
    promise: str  # what of an accepted job survives which fault
    health: str  # a path that answers 200 once jobs are taken
    front: str  # the program that answers requests
    back: str  # the program that runs jobs
    broker_pid: int

    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = ""
        self._closing = contextlib.ExitStack()
        self._programs: dict[str, subprocess.Popen[bytes]] = {}

    @abstractmethod
    def start(self) -> None:
        """Starts everything but the workers."""

    @abstractmethod
    def start_worker(self) -> None:
        """Starts what runs the jobs; what runs does nothing."""

    @abstractmethod
    def submission(self) -> Call:
        """The next submission."""

    @abstractmethod
    def status(self, job: str) -> Call:
        """The request for one job's state."""

    @abstractmethod
    def newest(self) -> Call:
        """The request for the 100 newest jobs."""

    @abstractmethod
    def multiply(self, job: str, count: int) -> None:
        """Puts `count` more jobs like this one, which has ended, into the database."""

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {}

    def run(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        """Starts a program of the service; its output goes to a log in the home."""
        with (self.home / f"{name}.log").open("wb") as log:
            self._programs[name] = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
            )
        self._closing.callback(self.end, name)

    def end(self, name: str) -> None:
        """Ends a program and what it started."""
        program = self._programs.pop(name, None)
        if program is None:
            return
        program.send_signal(signal.SIGTERM)
        try:
            program.wait(20)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()

    def broker(self) -> RedisServer:
        """Starts Redis, as `ipulse up` does."""
        server = self._closing.enter_context(running_redis(self.home))
        assert server.process is not None
        self.broker_pid = server.process.pid
        return server

    def await_health(self) -> None:
        """Waits until the service answers. Raises SystemExit with its log if it does not."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._programs[self.front].poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if self.url and httpx.get(self.url + self.health).status_code == httpx.codes.OK:
                    return
            self.look_for_url()
            time.sleep(0.02)
        raise SystemExit((self.home / f"{self.front}.log").read_text())

    @abstractmethod
    def look_for_url(self) -> None:
        """Sets `url` as soon as it is known."""

    @property
    def pid(self) -> int:
        """Of the process that answers requests."""
        return self._programs[self.front].pid

    def memory(self) -> int:
        """Bytes of the process that answers and of the broker; what several share counts once."""
        pids = (self.pid, self.broker_pid)
        return sum(psutil.Process(pid).memory_full_info().pss for pid in pids)

    def ended_job(self) -> str:
        """Has a job run to its end, and its worker then stopped; returns its id."""
        self.start_worker()
        with httpx.Client(base_url=self.url, headers=self.headers()) as http:
            call = self.submission()
            posted = http.request(
                call.method, call.path, content=call.content, headers=dict(call.headers)
            )
            job = str(posted.json()["id"])
            deadline = time.monotonic() + START_SECONDS
            while (state := http.get(self.status(job).path).json()["state"]) != "succeeded":
                if time.monotonic() > deadline:
                    raise SystemExit(f"{self.name}: the job is still {state}; see {self.home}")
                time.sleep(0.05)
        self.end(self.back)
        return job

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True)
        try:
            self.start()
        except BaseException:
            self._closing.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()
