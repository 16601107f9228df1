"""The processes that a test has started, whatever stacks other tests keep running beside it."""

from __future__ import annotations

import psutil


class Offspring:
    """Descendants of this process that did not exist when this object was made."""

    def __init__(self) -> None:
        self._before = set(psutil.Process().children(recursive=True))

    def alive(self) -> list[psutil.Process]:
        return [
            process
            for process in psutil.Process().children(recursive=True)
            if process not in self._before
        ]

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
