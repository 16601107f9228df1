"""The watch that ends a sandboxed program which exceeds its limits."""

from __future__ import annotations

import threading
import time
from typing import Callable, Optional

from ipulse_core.sandbox.cgroup import ControlGroup
from ipulse_core.sandbox.limits import SPARE_PROCESSES, SandboxLimits
from ipulse_core.sandbox.processes import kill_tree, memory_of, threads_of, tree_of

POLL_SECONDS = 0.1
_LEAST_POLL_SECONDS = 0.005  # of a group, whose memory is one number
_LEAST_TREE_POLL_SECONDS = 0.02
_FASTEST = 2**32  # bytes a second that a program may take: the measure for the next look


class LimitWatch:
    """Ends a process tree that runs for too long or needs too much memory.

    With a control group the kernel limits memory and files together, and the number of processes;
    the watch then sees that it did, and limits memory alone.
    """

    def __init__(
        self,
        pid: int,
        limits: SandboxLimits,
        check: Callable[[], None],
        group: Optional[ControlGroup] = None,
    ) -> None:
        """Start the watch.

        Args:
            pid: the root of the tree.
            limits: of the tree.
            check: raises an error if the attempt was cancelled; the tree is then ended.
            group: of the tree; it is removed with the watch.
        """
        self._pid = pid
        self._limits = limits
        self._check = check
        self._group = group
        self.exceeded: Optional[str] = None  # "seconds" or "memory"
        self.error: Optional[BaseException] = None  # of `check`
        self.peak_bytes = 0
        self.lacked_processes = False  # it wanted more than its limit at some time
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sandbox-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watch, after the end of the process or before it is killed."""
        self._over.set()
        self._thread.join()
        if self._group is not None:
            self._look_at_group(self._group)
            self._group.close()
            self._group = None

    def _watch(self) -> None:
        deadline = time.monotonic() + self._limits.seconds
        least = _LEAST_TREE_POLL_SECONDS if self._group is None else _LEAST_POLL_SECONDS
        pause = least
        while not self._over.wait(pause):
            used = self._measure()
            self.peak_bytes = max(self.peak_bytes, used)
            left = self._limits.memory_bytes - used
            pause = min(POLL_SECONDS, max(least, left / _FASTEST))
            try:
                self._check()
            except BaseException as error:  # noqa: BLE001 (raised by the thread that waits)
                self.error = error
            if left < 0:
                self.exceeded = "memory"
            elif not self.exceeded and time.monotonic() > deadline:
                self.exceeded = "seconds"
            if self.exceeded or self.error:
                self._kill()
                return

    def _measure(self) -> int:
        """Return the memory in bytes, and notice what the kernel refused."""
        if self._group is not None:
            self._look_at_group(self._group)
            return self._group.memory_bytes()
        processes = tree_of(self._pid)
        if threads_of(processes) > self._limits.processes + SPARE_PROCESSES:
            self.lacked_processes = True
        return memory_of(processes, self._limits.memory_bytes)

    def _look_at_group(self, group: ControlGroup) -> None:
        if group.ran_out_of_memory():
            self.exceeded = "memory"
        if group.lacked_processes():
            self.lacked_processes = True

    def _kill(self) -> None:
        if self._group is not None:
            self._group.kill()
        kill_tree(self._pid)
