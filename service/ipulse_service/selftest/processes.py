"""The processes below another one, as Linux lists them."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from contextlib import suppress


def descendants(pid: int) -> list[int]:
    """Ids of all the processes that a process started, and those that they started."""
    children: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):  # it ended meanwhile
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
    """Whether a process runs; one that is dead and waits to be collected does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def signal_tree(pid: int, number: signal.Signals) -> None:
    """Signals a process and all below it, the upper ones first."""
    for one in [pid, *descendants(pid)]:
        with suppress(ProcessLookupError):
            os.kill(one, number)
