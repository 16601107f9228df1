"""Whether agents could be heard lately: nobody is judged for a silence that was ours."""

from __future__ import annotations


class ClockGapGuard:
    """Judges by the database's clock: a process that was stopped, a machine that slept, and a
    clock that was set all look the same on it."""

    def __init__(self, longest_seconds: float, grace_seconds: float) -> None:
        """More than `longest_seconds` between two looks means that we were away; then agents have
        `grace_seconds` to be heard again."""
        self._longest_ms = round(longest_seconds * 1000)
        self._grace_ms = round(grace_seconds * 1000)
        self._last_look: int | None = None
        self._judge_from = 0

    def may_expire_leases(self, now: int) -> bool:
        """Called at every look, with its time in milliseconds since 1970: whether a lease that
        has run out by then may be taken for a lost agent's."""
        is_here = self._last_look is not None and 0 <= now - self._last_look <= self._longest_ms
        if not is_here:
            self._judge_from = now + self._grace_ms
        self._last_look = now
        return now >= self._judge_from
