"""The kinds of devices that this agent leaves alone, after an error that was the device's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ipulse_core.states import POLICIES, Policy, Reason


class Quarantine:
    """Lasts as long as the process, or a rest. Nobody else's jobs are failed by a bad device.

    One thread writes, several read.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        rest_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kinds = tuple(kinds)
        self._rest_seconds = rest_seconds
        self._clock = clock
        self._until: dict[str, float] = {}

    def saw(self, kind: str, reason: Reason) -> str:
        """What an attempt on such a device ended with; a sentence if it is left alone now."""
        policy = POLICIES.get(reason, Policy.FAIL)
        if policy is Policy.QUARANTINE:
            self._until[kind] = float("inf")
            return f"This worker uses its {kind} no more until it is started again: {reason.value}."
        if policy is Policy.RETRY_ELSEWHERE:
            now = self._clock()
            self._until[kind] = max(self._until.get(kind, now), now + self._rest_seconds)
            return f"This worker rests its {kind} for {self._rest_seconds:g} s: {reason.value}."
        return ""

    def refused(self) -> None:
        """The service does not understand this agent: all of its devices rest."""
        until = self._clock() + self._rest_seconds
        for kind in self.usable:
            self._until[kind] = until

    @property
    def resting(self) -> tuple[str, ...]:
        now = self._clock()
        return tuple(kind for kind in self._kinds if self._until.get(kind, now) > now)

    @property
    def usable(self) -> tuple[str, ...]:
        resting = self.resting
        return tuple(kind for kind in self._kinds if kind not in resting)

    @property
    def seconds_left(self) -> float:
        """Until the next one has rested; infinite if none ever will."""
        now = self._clock()
        return min((self._until[kind] - now for kind in self.resting), default=float("inf"))
