"""A job service under load: how it is started, and how a client asks it."""

from __future__ import annotations

import contextlib
import itertools
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx

from benchmarks.load.marks import Mark, marks
from benchmarks.load.payload import Order
from benchmarks.load.processors import all_of_them
from benchmarks.load.programs import Programs, computed, pss, rss, with_descendants
from benchmarks.submit import running_redis
from ipulse.stack.redis_server import RedisServer
from ipulse_core.states import TERMINAL

START_SECONDS = 120.0
POLL_SECONDS = 0.02
QUIET_SECONDS = 1.0
QUIET_SHARE = 0.25  # of one processor
ENDED = frozenset(state.value for state in TERMINAL)


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
    back: str  # the program that runs jobs, if there is one
    parallel = 1  # jobs that run at once
    runs_jobs = True  # else it keeps their records and files only
    is_whole = False  # it is started with its worker
    broker_pids: tuple[int, ...] = ()  # of a broker that is none of its programs

    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = ""
        self.start_seconds = 0.0  # until it answered
        self._closing = contextlib.ExitStack()
        self._programs = Programs(home)
        self._numbers = itertools.count(1)

    @abstractmethod
    def start(self) -> None:
        """Starts everything but the workers."""

    @abstractmethod
    def start_worker(self) -> None:
        """Starts what runs the jobs."""

    @abstractmethod
    def submission(self, order: Order = Order()) -> Call:  # noqa: B008 - it is frozen
        """The next submission."""

    @abstractmethod
    def status(self, job: str) -> Call:
        """The request for one job's state."""

    @abstractmethod
    def newest(self) -> Call:
        """The request for the 100 newest jobs."""

    @abstractmethod
    def log(self, http: httpx.Client, job: str) -> str:
        """All that a job has printed, as far as it can be read by now."""

    def multiply(self, job: str, count: int) -> None:
        """Puts `count` more jobs like this one, which has ended, into the database."""
        raise NotImplementedError

    def own_folders(self) -> dict[str, str]:
        """An environment in which a program keeps nothing outside of the side's home."""
        return {"HOME": str(self.home), "TMPDIR": str(self.home)}

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {}

    def id_of(self, answer: Any) -> str:
        """The job's, from the answer to a submission."""
        return str(answer["id"])

    def state_of(self, answer: Any) -> str:
        """One of ENDED, or something else."""
        return str(answer["state"])

    def order(self, kind: str, number: int = 0) -> Order:
        """One that runs as a process and leaves marks."""
        tag = f"job-{next(self._numbers)}"
        return Order(kind, number, tag, str(self.home / "marks"), is_inline=False)

    def marks_of(self, order: Order) -> list[Mark]:
        return marks(Path(order.marks))[order.tag]

    def await_mark(self, order: Order, word: str, limit: float, count: int = 1) -> Mark | None:
        """The mark of this word with this number; None if it does not come in time."""
        deadline = time.monotonic() + limit
        while True:
            found = [mark for mark in self.marks_of(order) if mark.word == word]
            if len(found) >= count:
                return found[count - 1]
            if time.monotonic() > deadline:
                return None
            time.sleep(POLL_SECONDS)

    def http(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=self.headers(), timeout=60.0)

    def submit(self, http: httpx.Client, order: Order) -> str:
        """The job's id. Raises httpx.HTTPError if it is refused."""
        call = self.submission(order)
        answer = http.request(
            call.method, call.path, content=call.content, headers=dict(call.headers)
        )
        return self.id_of(answer.raise_for_status().json())

    def state(self, http: httpx.Client, job: str) -> str:
        return self.state_of(http.get(self.status(job).path).raise_for_status().json())

    def await_end(self, http: httpx.Client, job: str, limit: float = START_SECONDS) -> str:
        """The state in which it ended. Raises SystemExit if it does not."""
        deadline = time.monotonic() + limit
        while (state := self.state(http, job)) not in ENDED:
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.name}: the job is still {state}; see {self.home}")
            time.sleep(POLL_SECONDS)
        return state

    def see_end(self, http: httpx.Client, job: str) -> str:
        """As `await_end`, in the best way that the service documents; here by asking often."""
        return self.await_end(http, job)

    def run(
        self,
        name: str,
        command: list[str],
        environment: Mapping[str, str],
        python: Path = Path(sys.executable),
    ) -> None:
        """Starts a program of the service; its output goes to a log in the home."""
        self._closing.callback(self.end, name)
        self._programs.start(name, command, environment, python)

    def end(self, name: str) -> None:
        """Ends a program, gently if it lets itself, and all that it started."""
        self._programs.end(name)

    def kill_worker(self) -> None:
        """SIGKILL to the program that runs jobs and to its own helpers, not to a job's process."""
        jobs = {mark.pid for found in marks(self.home / "marks").values() for mark in found}
        self._programs.kill(self.back, spared=jobs)

    def broker(self) -> RedisServer:
        """Starts Redis, as `ipulse up` does."""
        server = self._closing.enter_context(running_redis(self.home))
        assert server.process is not None
        self.broker_pids = (server.process.pid,)
        return server

    def await_health(self) -> None:
        """Waits until the service answers. Raises SystemExit with its log if it does not."""
        deadline = time.monotonic() + START_SECONDS
        # Making a client takes longer than several answers.
        with httpx.Client(headers=self.headers()) as http:
            while time.monotonic() < deadline and self._programs.runs(self.front):
                with contextlib.suppress(httpx.TransportError):
                    if http.get(self.url + self.health).status_code == httpx.codes.OK:
                        return
                time.sleep(POLL_SECONDS)
        raise SystemExit((self.home / f"{self.front}.log").read_text())

    def await_quiet(self) -> None:
        """Waits until its programs compute next to nothing, as they do once all of them have
        started: some answer before. Goes on after START_SECONDS."""
        deadline = time.monotonic() + START_SECONDS
        after = computed(with_descendants(self._programs.pids()))
        while time.monotonic() < deadline:
            before = after
            time.sleep(QUIET_SECONDS)
            after = computed(with_descendants(self._programs.pids()))
            if 0 <= after - before < QUIET_SHARE * QUIET_SECONDS:  # less: one of them has ended
                return

    @property
    def pid(self) -> int:
        """Of the program that answers requests."""
        return self._programs.pid(self.front)

    def memory(self) -> int:
        """Bytes of what answers and of the broker; what several share counts once."""
        return pss(with_descendants([self.pid, *self.broker_pids]))

    def resident(self) -> int:
        """Bytes of what answers; what several share counts for each."""
        return rss(with_descendants([self.pid]))

    def whole_memory(self) -> int:
        """Bytes of every process of it."""
        return pss(with_descendants([*self._programs.pids(), *self.broker_pids]))

    def ended_job(self) -> str:
        """Has a job run to its end, and its worker then stopped; returns its id."""
        self.start_worker()
        with self.http() as http:
            job = self.submit(http, Order())
            state = self.await_end(http, job)
        if state != "succeeded":
            raise SystemExit(f"{self.name}: a job of nothing has {state}; see {self.home}")
        self.end(self.back)
        return job

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True)
        began = time.monotonic()
        try:
            with all_of_them():
                self.start()
        except BaseException:
            self._closing.close()
            raise
        self.start_seconds = time.monotonic() - began
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
