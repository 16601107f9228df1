"""Limits of an attempt's log, in bytes and in lines per second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ipulse_core.events import LogEvent

# Counted for each line in addition to its text, so that empty lines use up the quota too.
LINE_OVERHEAD_BYTES = 64
BURST_SECONDS = 10  # lines of so many seconds may come at once, as a traceback does


class LogQuota:
    """Limits the bytes of a log; a notice marks where it was cut off."""

    def __init__(self, quota_bytes: int) -> None:
        self._quota = quota_bytes
        self._left = quota_bytes
        self.is_spent = False

    def admit(self, event: LogEvent) -> Iterator[LogEvent]:
        """Return the event while the quota lasts, then the notice, then nothing."""
        if self.is_spent:
            return
        self._left -= len(event.message.encode()) + LINE_OVERHEAD_BYTES
        if self._left >= 0:
            yield event
            return
        self.is_spent = True
        yield LogEvent(
            message=f"The log of this attempt has reached its quota of {self._quota:,} bytes; "
            "later lines are not stored.",
            level="warning",
            stream="agent",
        )


class LogRate:
    """Limits the lines per second of a log; notices say how many lines were dropped."""

    def __init__(
        self, lines_per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = lines_per_second
        self._burst = max(1.0, lines_per_second * BURST_SECONDS)
        self._allowance = self._burst  # lines
        self._clock = clock
        self._since = clock()
        self._dropped = 0

    def admit(self, event: LogEvent) -> Iterator[LogEvent]:
        """Return the event unless it exceeds the rate; a notice may come before it."""
        now = self._clock()
        self._allowance = min(self._burst, self._allowance + (now - self._since) * self._rate)
        self._since = now
        if self._allowance < 1:
            self._dropped += 1
            return
        self._allowance -= 1
        yield from self.end()
        yield event

    def end(self) -> Iterator[LogEvent]:
        """Return a notice if lines were dropped since the last one."""
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            yield LogEvent(
                message=f"{dropped:,} lines were dropped here: "
                f"a job may write {self._rate:g} lines per second.",
                level="warning",
                stream="agent",
            )


class LogLimits:
    """Applies the rate and the quota of an attempt's log."""

    def __init__(self, quota_bytes: int, lines_per_second: float) -> None:
        self._quota = LogQuota(quota_bytes)
        self._rate = LogRate(lines_per_second)

    @property
    def is_spent(self) -> bool:
        """True once the quota is used up."""
        return self._quota.is_spent

    def admit(self, event: LogEvent) -> Iterator[LogEvent]:
        """Return the event unless a limit excludes it; notices may come before it."""
        for line in self._rate.admit(event):
            yield from self._quota.admit(line)

    def end(self) -> Iterator[LogEvent]:
        """Return a notice if lines were dropped since the last one."""
        for notice in self._rate.end():
            yield from self._quota.admit(notice)
