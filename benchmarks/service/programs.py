"""Start, end and weigh the programs of a service under load."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import psutil

from benchmarks.common.tables import ROOT

END_SECONDS = 20
QUIET_SHARE = 0.25  # CPUs below which programs count as idle
_ALL_CPUS = os.sched_getaffinity(0)  # read before the clients are pinned


def pin_clients() -> None:
    """Keep the calling thread on one CPU; services may use all of them."""
    os.sched_setaffinity(0, {max(_ALL_CPUS)})


@contextlib.contextmanager
def all_cpus() -> Iterator[None]:
    """Let programs that are started meanwhile run on every CPU: children inherit them."""
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _ALL_CPUS)
    try:
        yield
    finally:
        os.sched_setaffinity(0, pinned)


class Programs:
    """The programs of a service by name; each writes its output to a log in one folder."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self,
        name: str,
        command: list[str],
        environment: Mapping[str, str],
        python: str | Path = sys.executable,
    ) -> None:
        """Run a module: `command` is its name and its arguments."""
        with (self._logs / f"{name}.log").open("ab") as log, all_cpus():
            self._running[name] = subprocess.Popen(
                [python, "-m", *command],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
                start_new_session=True,  # a terminal's Ctrl-C is for this process alone
            )

    def runs(self, name: str) -> bool:
        """Return whether a program has not ended."""
        return self._running[name].poll() is None

    def pid(self, name: str) -> int:
        """Return the id of a program's process."""
        return self._running[name].pid

    def pids(self) -> list[int]:
        """Return the ids of all programs' processes."""
        return [program.pid for program in self._running.values()]

    def await_idle(self, seconds: float) -> None:
        """Wait until all use next to no CPU, at most so long."""
        deadline = time.monotonic() + seconds
        used = cpu_seconds(self.pids())
        while time.monotonic() < deadline:
            before = used
            time.sleep(1.0)
            used = cpu_seconds(self.pids())
            if 0 <= used - before < QUIET_SHARE:  # less than 0: a process has ended
                return

    def end(self, name: str) -> None:
        """End a program, with SIGTERM if it obeys, and all its descendants."""
        program = self._running.pop(name, None)
        if program is None:
            return
        descendants = list(with_descendants([program.pid]))[1:]
        program.send_signal(signal.SIGTERM)
        try:
            program.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        for process in descendants:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def with_descendants(roots: Iterable[int]) -> Iterator[psutil.Process]:
    """Yield the processes of these ids and all their descendants."""
    for root in roots:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(root)
            yield process
            yield from process.children(recursive=True)


def memory(roots: Iterable[int]) -> int:
    """Return the bytes of these processes and their descendants; shared pages count once."""
    total = 0
    for process in with_descendants(roots):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().pss
    return total


def cpu_seconds(roots: Iterable[int]) -> float:
    """Return the CPU time of these processes and their descendants."""
    total = 0.0
    for process in with_descendants(roots):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:2])
    return total
