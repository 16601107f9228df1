"""The processes that a test has started, whatever stacks other tests keep running beside it."""

from __future__ import annotations

from contextlib import suppress

import psutil


class Offspring:
    """Descendants of this process that did not exist when this object was made, without those of
    processes that did: a database of other tests starts some whenever it wants to."""

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
        """Process ids of the runners among them, once there are any."""
        while True:
            found = [process.pid for process in self.alive() if _is_runner(process)]
            if found:
                return found


def _is_runner(process: psutil.Process) -> bool:
    try:
        return "--events-fd" in process.cmdline()
    except psutil.NoSuchProcess:
        return False
