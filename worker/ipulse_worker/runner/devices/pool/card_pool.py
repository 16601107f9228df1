"""The IPU cards of a host, for programs that see only the device files of their own IPUs.

Trainings attach cards through TensorFlow without a reservation here; what the driver lists as used
is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import AbstractSet, Callable, Iterable, Sequence

from ipulse_worker.runner.devices.pool.pool import Pool


class CardPool(Pool):
    """Cards by their indices. Those of one program are neighbours, which Poplar links."""

    noun = "IPU"
    more = ""

    def __init__(self, directory: Path, ipus: int, in_use: Callable[[], AbstractSet[int]]) -> None:
        """Make a pool; `in_use` returns the cards that processes use which are not from here."""
        super().__init__(directory, ipus)
        self._in_use = in_use

    def groups(self, wanted: int) -> Iterable[Sequence[int]]:
        """Return the groups of neighbours without a card that others use."""
        used = self._in_use()
        groups = (range(first, first + wanted) for first in range(0, self.ipus, wanted))
        return [group for group in groups if group.stop <= self.ipus and not used & set(group)]
