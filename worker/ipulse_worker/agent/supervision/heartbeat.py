"""Keeps an attempt's lease alive, and hears of its cancellation."""

from __future__ import annotations

from collections.abc import Callable

from ipulse_core.errors import IPUlseError
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.supervision.lease import Lease
from ipulse_worker.agent.supervision.polling_thread import Companion

OUT_OF_REACH = "the service was out of reach for as long as the lease lasts"
RETRY_SECONDS = 1.0  # after a heartbeat that was not answered


class Heartbeat(Companion):
    """Beats while its context is open.

    The lease is lost when the service refuses it, and also when nobody answered for as long as
    it lasts: by then another attempt may hold the job, and whatever this one says is refused.
    """

    def __init__(
        self, api: ServiceAPI, lease: Lease, seconds: float, on_cancel: Callable[[], None]
    ) -> None:
        super().__init__("heartbeat", lease, is_awaited=True)
        self._api = api
        self._seconds = seconds
        self._on_cancel = on_cancel
        self._is_cancelled = False

    def first_pause(self) -> float:
        return self._within_lease(self._seconds)

    def ask(self) -> float | None:
        # A process that was stopped, or a machine that slept, wakes here: it asks nobody,
        # because the answer is known.
        if self._lease.seconds_left() <= 0:
            self._lease.lose(ServiceUnavailable(OUT_OF_REACH))
            return None
        return self._within_lease(self._beat())

    def _within_lease(self, pause: float) -> float:
        return min(pause, max(0.0, self._lease.seconds_left()))

    def _beat(self) -> float:
        """Returns the seconds until the next one."""
        try:
            cancel = self._api.heartbeat(self._lease)
        except ServiceUnavailable:
            return RETRY_SECONDS
        except IPUlseError as refusal:
            self._lease.lose(refusal)
            return 0.0
        if cancel and not self._is_cancelled:
            self._is_cancelled = True
            self._on_cancel()
        return self._seconds
