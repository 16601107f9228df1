"""Tells a runner that starts slowly from one that hangs, by the processor time that it uses."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

REPORT_SECONDS = 30.0  # between two lines of the log; a faster start needs none
CHECK_SECONDS = 10.0
LONGEST = 20.0  # times the limit: a start that never ends may use processor time, too


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and its children that have ended, 0 without it."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return 0.0
    fields = text.rpartition(")")[2].split()  # the name in parentheses may contain spaces
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class StartupWatch:
    """Watches one runner from the time at which its job was claimed until it is ready."""

    def __init__(
        self,
        pid: int,
        limit_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        cpu_seconds: Callable[[int], float] = processor_seconds,
    ) -> None:
        """Begin to watch.

        Args:
            pid: The runner's process id.
            limit_seconds: For how long it may use no processor time.
            clock: A monotonic clock.
            cpu_seconds: Returns the processor time of a process.
        """
        self._pid = pid
        self._limit = limit_seconds
        self._clock = clock
        self._cpu_seconds = cpu_seconds
        self._began = self._advanced = self._reported = clock()
        self._first_cpu = self._cpu = self._cpu_seconds(pid)

    @property
    def pause(self) -> float:
        """The seconds until the next check."""
        return min(CHECK_SECONDS, self._limit / 4)

    def hangs(self) -> bool:
        """Check the runner; return whether it does nothing, or has taken far too long."""
        now, cpu = self._clock(), self._cpu_seconds(self._pid)
        if cpu > self._cpu:
            self._cpu, self._advanced = cpu, now
        return now - self._advanced >= self._limit or now - self._began >= LONGEST * self._limit

    def report(self) -> str:
        """Return what the agent waits for, or an empty string if that was reported lately."""
        now = self._clock()
        if now - self._reported < REPORT_SECONDS:
            return ""
        self._reported = now
        return (
            f"Waiting for the runner to import TensorFlow: {now - self._began:.0f} s, in which it "
            f"got {self._cpu - self._first_cpu:.1f} s of processor time."
        )

    @property
    def why_killed(self) -> str:
        """The message of a runner that hangs."""
        elapsed, used = self._clock() - self._began, self._cpu - self._first_cpu
        if elapsed >= LONGEST * self._limit:
            return (
                f"The runner was not ready within {elapsed:.0f} s, in which it used {used:.1f} s "
                "of processor time, and was killed."
            )
        return (
            f"The runner was not ready within {self._limit:g} s of its last use of processor time, "
            f"{used:.1f} s in all, and was killed. IPULSE_READY_SECONDS is for how long it may use "
            "none."
        )
