"""Whether work can flow: each part is tried, not asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

TRIAL_SECONDS = 1.0  # anybody may ask, and must not keep the disk busy with it


class Readiness:
    """Tries the parts when somebody asks, and remembers for a moment how it went."""

    def __init__(self, trials: dict[str, Callable[[], bool]]) -> None:
        self._trials = trials
        self._found: dict[str, bool] = {}
        self._until = 0.0  # on the monotonic clock
        self._trying = threading.Lock()

    def checks(self) -> dict[str, bool]:
        """Which parts work, by their names."""
        with self._trying:
            # What failed is tried again at once: whoever waits for it is not kept waiting.
            if time.monotonic() >= self._until or not all(self._found.values()):
                self._found = {name: trial() for name, trial in self._trials.items()}
                self._until = time.monotonic() + TRIAL_SECONDS
            return dict(self._found)
