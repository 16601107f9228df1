"""Suppresses lease expiry after this process was suspended."""

from __future__ import annotations


class ClockGapGuard:
    """Detects gaps between calls on the steady clock.

    A stopped process and a suspended machine look like a gap; a clock that was set does not.
    """

    def __init__(self, longest_seconds: float, grace_seconds: float) -> None:
        """After a gap of more than `longest_seconds`, agents have `grace_seconds` to renew."""
        self._longest_ms = round(longest_seconds * 1000)
        self._grace_ms = round(grace_seconds * 1000)
        self._last_scan: int | None = None
        self._expire_from = 0

    def may_expire_leases(self, now: int) -> bool:
        """Returns whether expired leases count as lost; called with the time of every scan.

        `now` is in milliseconds since 1970. The first scan counts as one after a gap.
        """
        if self._last_scan is None or now - self._last_scan > self._longest_ms:
            self._expire_from = now + self._grace_ms
        self._last_scan = now
        return now >= self._expire_from
