"""How much memory each part of a stack has of its own, over the jobs that it saw."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ipulse.stack.guarded_process import GuardedProcess

EVERY_SECONDS = 5.0
MOST_SAMPLES = 24  # that are told of each part

_OWN = ("Private_Clean:", "Private_Dirty:")


class Sample(NamedTuple):
    """What a part had when so many jobs had been accepted."""

    jobs: int
    mebibytes: float


class Footprint:
    """A thread that looks now and then. A part that was started again begins anew."""

    def __init__(
        self, parts: Callable[[], Mapping[str, GuardedProcess]], jobs: Callable[[], int]
    ) -> None:
        self._parts = parts
        self._jobs = jobs
        self._lives: dict[str, dict[int, list[Sample]]] = {}  # by name and process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Footprint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def longest(self) -> dict[str, list[Sample]]:
        """The life of each part in which most jobs were accepted, thinned evenly."""
        return {
            name: thinned(max(lives.values(), key=lambda life: life[-1].jobs - life[0].jobs))
            for name, lives in sorted(self._lives.items())
        }

    def _run(self) -> None:
        while not self._ended.wait(EVERY_SECONDS):
            for name, process in self._parts().items():
                size = own_bytes(process.pid)
                if size is not None:
                    sample = Sample(self._jobs(), round(size / 2**20, 2))
                    lives = self._lives.setdefault(name, {})
                    lives.setdefault(process.pid, []).append(sample)


def own_bytes(pid: int) -> int | None:
    """The memory that a process shares with none; None where it is gone, or nobody tells."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    sizes = [int(line.split()[1]) for line in lines if line.startswith(_OWN)]
    return sum(sizes) * 1024 if sizes else None


def thinned(samples: list[Sample]) -> list[Sample]:
    """At most so many, the first and the last among them."""
    if len(samples) <= MOST_SAMPLES:
        return samples
    last = len(samples) - 1
    return [samples[round(n * last / (MOST_SAMPLES - 1))] for n in range(MOST_SAMPLES)]
