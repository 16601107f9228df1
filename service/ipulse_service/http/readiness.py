"""Whether work can flow: each part is tried, not asked."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio
from anyio import to_thread

TRIAL_SECONDS = 1.0  # anybody may ask, and must not keep the disk busy with it


class Readiness:
    """Tries the parts when somebody asks, and remembers for a moment how it went."""

    def __init__(self, trials: dict[str, Callable[[], bool]]) -> None:
        self._trials = trials
        self._found: dict[str, bool] = {}
        self._began = self._until = 0.0  # on the monotonic clock
        # One thread, and none of those that answer requests: a part that hangs keeps it busy.
        self._limiter = anyio.CapacityLimiter(1)

    async def checks(self) -> dict[str, bool]:
        """Which parts work, by their names."""
        return await to_thread.run_sync(self._checks, time.monotonic(), limiter=self._limiter)

    def _checks(self, asked: float) -> dict[str, bool]:
        # What failed is tried again at once: whoever waits for it is not kept waiting. All who
        # ask while a trial goes on share the next one.
        is_known = time.monotonic() < self._until and all(self._found.values())
        if not is_known and self._began <= asked:
            self._began = time.monotonic()
            self._found = {name: trial() for name, trial in self._trials.items()}
            self._until = time.monotonic() + TRIAL_SECONDS
        return dict(self._found)
