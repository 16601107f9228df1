"""Readiness checks, which use each part of the service instead of asking it."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio
from anyio import to_thread

TRIAL_SECONDS = 1.0  # results are reused for this time: anybody may ask, and trials write to disk


class Readiness:
    """Tries each part on request, and reuses the results for a moment."""

    def __init__(self, trials: dict[str, Callable[[], bool]]) -> None:
        self._trials = trials
        self._results: dict[str, bool] = {}
        self._started_at = self._valid_until = 0.0  # monotonic clock
        # A thread apart from those that serve requests: a part that hangs blocks it.
        self._limiter = anyio.CapacityLimiter(1)

    async def checks(self) -> dict[str, bool]:
        """Returns which parts work, by name."""
        return await to_thread.run_sync(self._checks, time.monotonic(), limiter=self._limiter)

    def _checks(self, asked_at: float) -> dict[str, bool]:
        # A failure is not reused, so that a repaired part is ready at once. Requests that arrive
        # during a trial share the next one.
        is_known = time.monotonic() < self._valid_until and all(self._results.values())
        if not is_known and self._started_at <= asked_at:
            self._started_at = time.monotonic()
            self._results = {name: trial() for name, trial in self._trials.items()}
            self._valid_until = time.monotonic() + TRIAL_SECONDS
        return dict(self._results)
