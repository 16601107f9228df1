"""Descendants of a process, as Linux lists them."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from contextlib import suppress


def descendants(pid: int) -> list[int]:
    """Returns the ids of all descendants of a process."""
    children: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):  # it has ended
                with open(f"/proc/{name}/stat", "rb") as stat:
                    fields = stat.read().rpartition(b")")[2].split()
                children[int(fields[1])].append(int(name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children[waiting.pop()]
        found += below
        waiting += below
    return found


def is_alive(pid: int) -> bool:
    """Returns whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def signal_tree(pid: int, number: signal.Signals) -> None:
    """Sends a signal to a process and its descendants, the parents first."""
    for one in [pid, *descendants(pid)]:
        with suppress(ProcessLookupError):
            os.kill(one, number)
