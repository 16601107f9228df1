"""The capabilities that workers announce and jobs need: names, units, amounts that are enough."""

from __future__ import annotations

from typing import Mapping, Union

DISK_BYTES = "disk_bytes"  # free in the work directory while no attempt runs
INODES = "inodes"  # likewise
DISK_TOTAL_BYTES = "disk_total_bytes"  # of the disk of the work directory
INODES_TOTAL = "inodes_total"

# The totals of what may become free, by what is free.
TOTALS: Mapping[str, str] = {DISK_BYTES: DISK_TOTAL_BYTES, INODES: INODES_TOTAL}
UNITS: Mapping[str, str] = {DISK_BYTES: "bytes of free disk", INODES: "free inodes"}

Capability = Union[int, str, bool]


def is_more(amount: int, tried: int) -> bool:
    """Return whether an amount is notably more than one that was not enough for a job.

    The disk of a worker never has the same number of free bytes twice.
    """
    return amount > tried + tried // 16
