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
        found: list[psutil.Process] = []
        parents = [psutil.Process()]
        while parents:
            with suppress(psutil.NoSuchProcess):
                ours = [one for one in parents.pop().children() if one not in self._before]
                found += ours
                parents += ours
        return found

    def runners(self) -> list[int]:
        """Wait for runners among them and return their process ids."""
        while True:
            found = [process.pid for process in self.alive() if _is_runner(process)]
            if found:
                return found


def _is_runner(process: psutil.Process) -> bool:
    try:
        return "--events-fd" in process.cmdline()
    except psutil.NoSuchProcess:
        return False
