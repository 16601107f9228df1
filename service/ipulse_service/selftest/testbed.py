"""The stack into which faults are injected; it restarts what was killed."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from ipulse.agent_tokens import local_name
from ipulse.key_file import key_in
from ipulse.stack.stack import Stack
from ipulse.times import time_of
from ipulse_core.checkout import import_paths
from ipulse_core.errors import Unavailable
from ipulse_service.selftest.broker import Broker
from ipulse_service.selftest.database_clock import DatabaseClock
from ipulse_service.selftest.disks import Disks
from ipulse_service.selftest.execution_log import ExecutionLog
from ipulse_service.selftest.load import Load
from ipulse_service.selftest.postgresql import Servers
from ipulse_service.selftest.probe import Probe
from ipulse_service.selftest.records import Held, PostgreSQLRecords, Records

T = TypeVar("T")

SKEWED = Path(__file__).with_name("clock_skew")
LOG_TAIL_BYTES = 2**18
HOUSEKEEPING_SECONDS = 3.0
START_TRIES = 5  # for a process that was killed
SMALL_WORK = "small-work"  # the work directory of one more agent
# The home's disks, by folder.
MEBIBYTES = {"": 96, "artifacts": 32, "work": 32, SMALL_WORK: 16}


class Testbed:
    """A home in an empty folder, small disks below it, and a stack with several agents."""

    def __init__(
        self,
        folder: Path,
        agents: int,
        runner: str,
        has_disks: bool,
        template: dict[str, Any],
        lease_seconds: float,
        servers: Servers | None = None,
    ) -> None:
        """Prepares the stack. `runner` is the module of the runner, "" for the one that trains.

        The database is SQLite unless there are `servers` of another.
        """
        self.home = folder / "home"
        self.execution_log = ExecutionLog(folder / "execution_log.jsonl")
        self.template = {**template, "metadata": {**template.get("metadata", {})}}
        self.template["metadata"]["execution_log"] = str(self.execution_log.path)
        self.disks = Disks()
        self._has_disks = has_disks
        self.agents = ["agent", *(f"agent-{number}" for number in range(2, agents + 1))]
        environment = {
            "PYTHONPATH": os.pathsep.join(map(str, [SKEWED, *import_paths()])),
            "IPULSE_LEASE_SECONDS": str(lease_seconds),
            "IPULSE_HEARTBEAT_SECONDS": str(lease_seconds / 3),
            "IPULSE_HOUSEKEEPING_SECONDS": str(HOUSEKEEPING_SECONDS),
        }
        self.database_clock = DatabaseClock(folder, servers)
        environment.update(self.database_clock.environment)
        if runner:
            environment["IPULSE_RUNNER_MODULE"] = runner
        self.servers = servers
        url = servers.url if servers else ""
        self.stack = Stack(self.home, agents=agents, environment=environment, database_url=url)
        self.records = PostgreSQLRecords(url) if url else Records(self.home / "ipulse.db")
        self._pool = ThreadPoolExecutor(max_workers=agents + 2)
        self._starting: dict[str, Future[None]] = {}

    def __enter__(self) -> Testbed:
        self.home.mkdir(mode=0o700)
        for folder, mebibytes in MEBIBYTES.items():
            path = self.home / folder
            path.mkdir(mode=0o700, exist_ok=True)
            if self._has_disks and not self.disks.prepare(path, mebibytes):
                break
        try:
            if self.servers:
                self.servers.start()
            self.database_clock.prepare()
            self.stack.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown()
        self.stack.stop()
        self._end()

    def _end(self) -> None:
        if self.servers:
            self.servers.stop()
        self.disks.remove()

    @property
    def broker(self) -> Broker:
        """The queues of the stack's Redis."""
        return Broker(self.stack.broker_socket)

    def probe(self) -> Probe:
        """Returns a probe of the stack's service."""
        return Probe(self.stack.url, self.stack.token_path)

    def load(self, seed: int, waiting: int, varies: bool) -> Load:
        """Returns a load; with `varies` each job has its own seed, else all give equal results."""
        address = (self.stack.url, self.stack.token_path)
        return Load(*address, self.records, self.template, seed, waiting, varies)

    def up(self) -> list[str]:
        """Returns the names of the running processes. Raises the exception of a failed restart."""
        for name, starting in list(self._starting.items()):
            if starting.done():
                starting.result()
                del self._starting[name]
        return [name for name in self.stack.processes if name not in self._starting]

    def all_up(self) -> None:
        """Waits until everything that was killed has been restarted."""
        for starting in list(self._starting.values()):
            starting.result()
        self._starting.clear()

    def pid(self, name: str) -> int:
        """Returns the process id of a part of the stack."""
        return self.stack.processes[name].pid

    def kill(self, name: str, *, forget: bool = False) -> None:
        """Kills a process and restarts it at once; `forget` empties Redis."""
        os.kill(self.pid(name), signal.SIGKILL)
        again: Callable[[], None]
        if name == "redis":

            def again() -> None:
                self.stack.restart_redis(forget)

        elif name == "service":
            again = self.stack.restart_service
        else:
            number = self.agents.index(name) + 1

            def again() -> None:
                self.stack.restart_agent(number)

        self._starting[name] = self._pool.submit(_start_with_retries, again)

    @contextmanager
    def more_agent(self, name: str, variables: Mapping[str, str]) -> Iterator[int]:
        """Runs one more agent, with these variables; the context is its process id."""
        with ExitStack() as running:
            agent = _start_with_retries(
                lambda: running.enter_context(self.stack.more_agent(name, variables))
            )
            yield agent.process.pid if agent.process else 0

    def held_by(self, name: str) -> list[Held]:
        """Returns the attempts that an agent holds."""
        signature = local_name(key_in(self.home / "agent-key"), name)
        return [one for one in self.records.held() if one.agent == signature]

    def runner_of(self, attempt: str) -> int | None:
        """Returns the runner's process id of an attempt, from the logs of the agents."""
        found: int | None = None
        for name in self.agents:
            for line in self._log_lines(name):
                if line.get("attempt") == attempt and "pid" in line:
                    found = line["pid"]
        return found

    def clock_errors(self) -> list[float]:
        """Returns by how many seconds the clock of each process is wrong, from its log."""
        errors = []
        for name in ("service", *self.agents):
            path = self._log_path(name)
            lines = [line for line in self._log_lines(name) if "time" in line]
            if lines:
                logged = time_of(lines[-1]["time"]).timestamp()
                errors.append(logged - path.stat().st_mtime)
        return errors

    def _log_path(self, name: str) -> Path:
        return self.home / "logs" / f"{name}.log"

    def _log_lines(self, name: str) -> list[dict[str, Any]]:
        with self._log_path(name).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            lines = log.read().splitlines()
        found = []
        for text in lines:
            try:
                line = json.loads(text)
            except ValueError:  # an incomplete line
                continue
            if isinstance(line, dict):
                found.append(line)
        return found


def _start_with_retries(start: Callable[[], T]) -> T:
    """Retries a start: on a busy machine it may take longer than its limit."""
    for _ in range(START_TRIES - 1):
        try:
            return start()
        except Unavailable:
            continue
    return start()


def milliseconds() -> int:
    """Returns the time in milliseconds since 1970."""
    return round(time.time() * 1000)
