"""Device kinds that this agent does not use for a while, after an error of device or machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ipulse_core.states import POLICIES, Policy, Reason
from ipulse_core.worker_faults import WorkerFault
from ipulse_worker.agent.registration.host_check import CHECK_SECONDS, HostCheck


class Quarantine:
    """Keeps jobs away from a faulty device, for some time or until the agent restarts.

    One thread writes, several may read.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        quarantine_seconds: float,
        host: HostCheck,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kinds = tuple(kinds)
        self._quarantine_seconds = quarantine_seconds
        self._clock = clock
        self._host = host
        self._until: dict[str, float] = {}
        self._why: dict[str, str] = {}  # the sentence of each kind in `_until`
        self._draining_until = 0.0

    def record(self, kind: str, reason: Reason, message: str = "") -> str:
        """Record why an attempt on a device ended; return a sentence if that quarantines it."""
        sentence = self._host.record(reason, message)
        if sentence:
            return sentence
        policy = POLICIES.get(reason, Policy.FAIL)
        if policy is Policy.QUARANTINE:
            self._until[kind] = float("inf")
            self._why[kind] = (
                f"This worker does not use its {kind} until it is restarted: {reason.value}."
            )
            return self._why[kind]
        if policy is Policy.RETRY_ELSEWHERE:
            now = self._clock()
            sentence = (
                f"This worker does not use its {kind} for {self._quarantine_seconds:g} s: "
                f"{reason.value}."
            )
            if self._until.get(kind, now) < now + self._quarantine_seconds:
                self._until[kind] = now + self._quarantine_seconds
                self._why[kind] = sentence
            return sentence
        return ""

    def suspend_all(self, why: str) -> None:
        """Quarantine every kind for a while, because the service refuses this agent."""
        until = self._clock() + self._quarantine_seconds
        for kind in self.usable:
            self._until[kind] = until
            self._why[kind] = f"The service refused this worker: {why}"

    @property
    def reasons(self) -> dict[str, str]:
        """Why the kinds that are quarantined by themselves may not be used, by kind."""
        now = self._clock()
        return {kind: why for kind, why in self._why.items() if self._until[kind] > now}

    @property
    def trouble(self) -> WorkerFault | None:
        """Why this machine can run no job now, None if it can."""
        return self._host.fault()

    def drain(self, seconds: float) -> None:
        """Use no device for so long, because the service drains this agent; 0 ends that."""
        self._draining_until = self._clock() + seconds if seconds else 0.0

    @property
    def is_draining(self) -> bool:
        """True while the service drains this agent."""
        return self._draining_until > self._clock()

    @property
    def quarantined(self) -> tuple[str, ...]:
        """The kinds that may not be used now."""
        if self.trouble:
            return self._kinds
        now = self._clock()
        return tuple(kind for kind in self._kinds if self._until.get(kind, now) > now)

    @property
    def usable(self) -> tuple[str, ...]:
        """The kinds that may be used now."""
        return () if self.is_draining else self.healthy

    @property
    def healthy(self) -> tuple[str, ...]:
        """The kinds that are not quarantined, which a drain does not change."""
        quarantined = self.quarantined
        return tuple(kind for kind in self._kinds if kind not in quarantined)

    @property
    def seconds_left(self) -> float:
        """Seconds until the next kind may be used again; infinite if none will be."""
        if self.trouble:
            return CHECK_SECONDS
        now = self._clock()
        ends = [until for until in self._until.values() if until > now]
        if self.is_draining:
            ends.append(self._draining_until)
        return min((end - now for end in ends), default=float("inf"))
