"""A job service under load: how to start it, and how a client calls it."""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx

from benchmarks.service.payload import NOTHING, Order
from benchmarks.service.programs import Programs, all_cpus, memory
from ipulse.stack.program_log import ProgramLog
from ipulse.stack.redis_server import RedisServer
from ipulse_core.states import TERMINAL

START_SECONDS = 120.0
POLL_SECONDS = 0.02
JSON = {"content-type": "application/json"}
ENDED = frozenset(state.value for state in TERMINAL)


@dataclass(frozen=True)
class Call:
    """One request of a client."""

    method: str
    path: str
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class System(ABC):
    """A service with its data in an empty directory; it runs while its context is open."""

    name: str
    health: str  # a path that answers 200 once jobs are accepted
    front: str  # the program that answers requests
    back: str  # the program that runs jobs

    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = ""
        self.start_seconds = 0.0  # until the first answer
        self._closing = contextlib.ExitStack()
        self._programs = Programs(home)
        self._broker_pids: list[int] = []
        self._numbers = itertools.count(1)

    @abstractmethod
    def start(self) -> None:
        """Start everything except the workers."""

    @abstractmethod
    def start_worker(self) -> None:
        """Start the program that runs the jobs."""

    @abstractmethod
    def submission(self, order: Order = NOTHING) -> Call:
        """Return the request that submits a job."""

    @abstractmethod
    def status(self, job: str) -> Call:
        """Return the request for a job's state."""

    @abstractmethod
    def newest(self) -> Call:
        """Return the request for the 100 newest jobs."""

    def store_file(self, path: Path) -> Call:
        """Store a file; return the request that downloads it."""
        raise NotImplementedError

    @contextlib.contextmanager
    def uploading(self, path: Path) -> Iterator[Callable[[], object]]:
        """Yield a function that uploads a file."""
        raise NotImplementedError
        yield

    def headers(self) -> dict[str, str]:
        """Return the headers of every request."""
        return {}

    def timed_order(self, sleep_seconds: float = 0.0) -> Order:
        """Return an order that runs as a process and writes timestamps."""
        tag = f"job-{next(self._numbers)}"
        return Order(sleep_seconds, tag, str(self.home / "timestamps"), inline=False)

    def http(self) -> httpx.Client:
        """Return a client of the service."""
        return httpx.Client(base_url=self.url, headers=self.headers(), timeout=60.0)

    def submit(self, http: httpx.Client, order: Order) -> str:
        """Submit a job and return its id. Raises httpx.HTTPError if it is refused."""
        call = self.submission(order)
        answer = http.request(
            call.method, call.path, content=call.content, headers=dict(call.headers)
        )
        return str(answer.raise_for_status().json()["id"])

    def await_end(self, http: httpx.Client, job: str) -> str:
        """Poll until a job has ended; return its state. Raises SystemExit if it does not end."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            answer = http.get(self.status(job).path).raise_for_status()
            state = str(answer.json()["state"])
            if state in ENDED:
                return state
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.name}: the job is still {state}; see {self.home}")
            time.sleep(POLL_SECONDS)

    def see_end(self, http: httpx.Client, job: str) -> str:
        """Wait for a job's end in the fastest way that the service documents: here by polling."""
        return self.await_end(http, job)

    def run(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        """Start a program of the service; its log is in the home directory."""
        self._closing.callback(self._programs.end, name)
        self._programs.start(name, command, environment)

    def pid(self, name: str) -> int:
        """Return the process id of a program that was started."""
        return self._programs.pid(name)

    def broker(self) -> RedisServer:
        """Start Redis as `ipulse up` does."""
        server = RedisServer(self.home / "redis", ProgramLog(self.home / "redis.log"))
        server.start()
        self._closing.callback(server.stop)
        assert server.process is not None
        self._broker_pids = [server.process.pid]
        return server

    def await_health(self) -> None:
        """Wait until the service answers. Raises SystemExit with its log if it does not."""
        deadline = time.monotonic() + START_SECONDS
        with httpx.Client(headers=self.headers()) as http:
            while time.monotonic() < deadline and self._programs.runs(self.front):
                with contextlib.suppress(httpx.TransportError):
                    if http.get(self.url + self.health).status_code == httpx.codes.OK:
                        return
                time.sleep(POLL_SECONDS)
        raise SystemExit((self.home / f"{self.front}.log").read_text())

    def await_idle(self) -> None:
        """Wait until its programs use next to no CPU: some answer before they have started."""
        self._programs.await_idle(START_SECONDS)

    def memory(self, whole: bool = False) -> int:
        """Return the bytes of the front program and the broker, or of the whole service."""
        pids = self._programs.pids() if whole else [self._programs.pid(self.front)]
        return memory([*pids, *self._broker_pids])

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True)
        began = time.monotonic()
        try:
            with all_cpus():
                self.start()
        except BaseException:
            self._closing.close()
            raise
        self.start_seconds = time.monotonic() - began
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()


def free_port() -> int:
    """Return a free port of loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def await_answer(url: str, name: str) -> None:
    """Wait until a server answers, whatever it says. Raises TimeoutError."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url)
            return
        time.sleep(POLL_SECONDS)
    raise TimeoutError(f"{name} did not answer at {url} within {START_SECONDS:g} s")
