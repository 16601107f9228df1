"""Private memory of each process of a stack over the number of accepted jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ipulse.stack.guarded_process import GuardedProcess
from ipulse_core.repeating_thread import RepeatingThread

EVERY_SECONDS = 5.0
MAX_SAMPLES = 24  # reported for each process

_OWN = ("Private_Clean:", "Private_Dirty:")


class Sample(NamedTuple):
    """The memory of a process when a number of jobs had been accepted."""

    jobs: int
    mebibytes: float


class Footprint:
    """A thread that samples memory; a restarted process starts a new series."""

    def __init__(
        self, parts: Callable[[], Mapping[str, GuardedProcess]], jobs: Callable[[], int]
    ) -> None:
        self._parts = parts
        self._jobs = jobs
        self._lives: dict[str, dict[int, list[Sample]]] = {}  # by name and process id
        self._thread = RepeatingThread("footprint", self._sample, first_pause=EVERY_SECONDS)

    def __enter__(self) -> Footprint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.stop()

    def longest(self) -> dict[str, list[Sample]]:
        """Returns the series of each name with the most accepted jobs, thinned evenly."""
        return {
            name: thinned(max(lives.values(), key=lambda life: life[-1].jobs - life[0].jobs))
            for name, lives in sorted(self._lives.items())
        }

    def _sample(self) -> float:
        for name, process in self._parts().items():
            size = own_bytes(process.pid)
            if size is not None:
                sample = Sample(self._jobs(), round(size / 2**20, 2))
                lives = self._lives.setdefault(name, {})
                lives.setdefault(process.pid, []).append(sample)
        return EVERY_SECONDS


def own_bytes(pid: int) -> int | None:
    """Returns the private memory of a process, None if it has ended or cannot be read."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    sizes = [int(line.split()[1]) for line in lines if line.startswith(_OWN)]
    return sum(sizes) * 1024 if sizes else None


def thinned(samples: list[Sample]) -> list[Sample]:
    """Returns at most MAX_SAMPLES samples, with the first and the last."""
    if len(samples) <= MAX_SAMPLES:
        return samples
    last = len(samples) - 1
    return [samples[round(n * last / (MAX_SAMPLES - 1))] for n in range(MAX_SAMPLES)]
