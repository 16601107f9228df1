"""Suppresses lease expiry after this process was suspended."""

from __future__ import annotations


class ClockGapGuard:
    """Detects gaps between calls on the steady clock.

    A stopped process and a suspended machine look like a gap; a clock that was set does not.
    """

    def __init__(self, longest_seconds: float, grace_seconds: float, lease_seconds: float) -> None:
        """After a gap of more than `longest_seconds`, agents have `grace_seconds` to renew.

        They have a whole lease if the length of the gap is not known.
        """
        self._longest_ms = round(longest_seconds * 1000)
        self._grace_ms = round(grace_seconds * 1000)
        self._lease_ms = round(lease_seconds * 1000)
        self._last_scan: int | None = None
        self._expire_from = 0

    def may_expire_leases(self, now: int, is_measured: bool) -> bool:
        """Returns whether expired leases count as lost; called with the time of every scan.

        The first scan counts as one after a gap.

        Args:
            now: The time in milliseconds since 1970.
            is_measured: Whether the time before this process's first scan was measured. Otherwise
                the database's clock may have been set, which looks like time that passed.
        """
        if self._last_scan is None and not is_measured:
            self._expire_from = now + self._lease_ms
        elif self._last_scan is None or now - self._last_scan > self._longest_ms:
            self._expire_from = now + self._grace_ms
        self._last_scan = now
        return now >= self._expire_from
