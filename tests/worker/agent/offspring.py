"""The processes that one test has started, without those of other tests' stacks."""

from __future__ import annotations

from contextlib import suppress

import psutil


class Offspring:
    """Descendants of this process that are newer than this object.

    Descendants of older processes do not count: another test's database may start some.
    """

    def __init__(self) -> None:
        self._before = set(psutil.Process().children(recursive=True))

    def alive(self) -> list[psutil.Process]:
        runners: list[psutil.Process] = []
        parents = [psutil.Process()]
        while parents:
            with suppress(psutil.NoSuchProcess):
                ours = [child for child in parents.pop().children() if child not in self._before]
                runners += ours
                parents += ours
        return runners

    def runners(self) -> list[int]:
        """Wait for runners among them and return their process ids."""
        while True:
            runners = [process.pid for process in self.alive() if _is_runner(process)]
            if runners:
                return runners


def _is_runner(process: psutil.Process) -> bool:
    try:
        return "--events-fd" in process.cmdline()
    except psutil.NoSuchProcess:
        return False
