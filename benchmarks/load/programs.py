"""The programs of a service under load: started, ended, killed, and what memory they take."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from benchmarks.load.processors import all_of_them

ROOT = Path(__file__).resolve().parents[2]
END_SECONDS = 20


class Programs:
    """By name; the output of each goes to a log in one folder."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self, name: str, command: list[str], environment: Mapping[str, str], python: Path
    ) -> None:
        """Runs a module: `command` is its name and its arguments."""
        with (self._logs / f"{name}.log").open("ab") as log, all_of_them():
            self._running[name] = subprocess.Popen(
                [python, "-m", *command],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
                start_new_session=True,  # a terminal's Ctrl-C is for this process alone
            )

    def runs(self, name: str) -> bool:
        return self._running[name].poll() is None

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def pids(self) -> list[int]:
        return [program.pid for program in self._running.values()]

    def end(self, name: str) -> None:
        """Ends a program, gently if it lets itself, and all that it started."""
        program = self._running.pop(name, None)
        if program is None:
            return
        below = _descendants(program.pid)
        program.send_signal(signal.SIGTERM)
        try:
            program.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        _kill(below)

    def kill(self, name: str, spared: Collection[int] | None = None) -> None:
        """SIGKILL to a program, and to all below it but some if those are named."""
        program = self._running.pop(name)
        below = [] if spared is None else _descendants(program.pid)
        program.kill()
        _kill(process for process in below if process.pid not in (spared or ()))
        program.wait()


def with_descendants(roots: Iterable[int]) -> Iterator[psutil.Process]:
    """The processes of these ids and all below them."""
    for root in roots:
        yield psutil.Process(root)
        yield from _descendants(root)


def pss(processes: Iterable[psutil.Process]) -> int:
    """Bytes of these processes; what several share counts once."""
    return _sum(processes, lambda process: process.memory_full_info().pss)


def rss(processes: Iterable[psutil.Process]) -> int:
    """Bytes of these processes; what several share counts for each."""
    return _sum(processes, lambda process: process.memory_info().rss)


def computed(processes: Iterable[psutil.Process]) -> float:
    """Seconds that these processes have had of the processors."""
    return _sum(processes, lambda process: sum(process.cpu_times()[:2]))


def _sum(processes: Iterable[psutil.Process], of: Callable[[psutil.Process], Any]) -> Any:
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += of(process)
    return total


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return found


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
