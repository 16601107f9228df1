"""The limits of a sandboxed program, and the watch that ends one which exceeds them."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import Callable, Dict, List, NamedTuple, Optional

POLL_SECONDS = 0.1
OPEN_FILES = 1024
_SPARE_BYTES = 2**31  # of the address space, beyond twice the memory: stacks and maps of threads


class SandboxLimits(NamedTuple):
    """The limits of all processes of a sandbox together."""

    seconds: float
    memory_bytes: int
    disk_bytes: int
    processes: int  # and threads


def resource_limits(limits: SandboxLimits) -> List[str]:
    """Return the command that sets the limits which the kernel enforces on each process."""
    cores = len(os.sched_getaffinity(0))
    return [
        "prlimit",
        f"--nproc={limits.processes}",
        f"--as={2 * limits.memory_bytes + _SPARE_BYTES}",
        f"--cpu={max(1, round(limits.seconds * cores))}",
        f"--fsize={limits.disk_bytes}",
        f"--nofile={OPEN_FILES}",
        "--core=0",
        "--",
    ]


class LimitWatch:
    """Ends a process tree that runs for too long or needs too much memory."""

    def __init__(self, pid: int, limits: SandboxLimits, check: Callable[[], None]) -> None:
        """Start the watch.

        Args:
            pid: the root of the tree.
            limits: of the tree.
            check: raises an error if the attempt was cancelled; the tree is then ended.
        """
        self._pid = pid
        self._limits = limits
        self._check = check
        self.exceeded: Optional[str] = None  # "seconds" or "memory"
        self.error: Optional[BaseException] = None  # of `check`
        self.peak_bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sandbox-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watch."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        deadline = time.monotonic() + self._limits.seconds
        while not self._over.wait(POLL_SECONDS):
            used = memory_of_tree(self._pid)
            self.peak_bytes = max(self.peak_bytes, used)
            try:
                self._check()
            except BaseException as error:  # noqa: BLE001 (raised by the thread that waits)
                self.error = error
            if used > self._limits.memory_bytes:
                self.exceeded = "memory"
            elif time.monotonic() > deadline:
                self.exceeded = "seconds"
            if self.exceeded or self.error:
                kill_tree(self._pid)
                return


def memory_of_tree(root: int) -> int:
    """Return the anonymous and shared memory of a process and its descendants, in bytes."""
    return sum(map(_memory_of, tree_of(root)))


def kill_tree(root: int) -> None:
    """Kill a process and its descendants; the first process of a sandbox takes all others along."""
    for pid in tree_of(root):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def tree_of(root: int) -> List[int]:
    """Return the ids of a process and its descendants."""
    parents: Dict[int, List[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                parents.setdefault(int(fields[1]), []).append(int(name))
    tree = [root]
    for pid in tree:
        tree += parents.get(pid, [])
    return tree


def _memory_of(pid: int) -> int:
    total = 0
    with suppress(OSError, ValueError), open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith((b"RssAnon:", b"RssShmem:")):
                total += int(line.split()[1]) * 1024
    return total
