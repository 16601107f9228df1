"""Renews an attempt's lease and learns of orders."""

from __future__ import annotations

from collections.abc import Callable

from ipulse_core.errors import IPUlseError
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.supervision.lease import AttemptLease
from ipulse_worker.agent.supervision.polling_thread import PollingThread

OUT_OF_REACH = "the service could not be reached for as long as the lease lasts"
RETRY_SECONDS = 1.0  # after a heartbeat without an answer


class Heartbeat(PollingThread):
    """Sends heartbeats while its context is open.

    The lease is lost when the service refuses a heartbeat, and when none was answered for as long
    as the lease lasts: by then another attempt may run. Once the runner has ended, its results wait
    for the service, which knows whether another attempt has begun.
    """

    def __init__(
        self,
        api: ServiceAPI,
        lease: AttemptLease,
        seconds: float,
        on_cancel: Callable[[], None],
        on_finish: Callable[[], None],
        on_return: Callable[[], None],
    ) -> None:
        """Prepare the thread.

        Args:
            api: The service.
            lease: The lease to renew.
            seconds: The time between two heartbeats.
            on_cancel: Called once when the attempt is to be cancelled.
            on_finish: Called once when the training is to end now with its results.
            on_return: Called once when the job is to return to the queue.
        """
        super().__init__("heartbeat", lease, is_joined=True)
        self._api = api
        self._seconds = seconds
        self._on_cancel = on_cancel
        self._on_finish = on_finish
        self._on_return = on_return
        self._is_cancelled = False
        self._is_finishing = False
        self._is_returned = False

    def first_pause(self) -> float:
        """Return the seconds until the first heartbeat."""
        return self._within_lease(self._seconds)

    def poll(self) -> float | None:
        """Send one heartbeat, unless the lease has expired."""
        # A process that was suspended, or a machine that slept, continues here with an expired
        # lease: the service would refuse it.
        if self._lease.seconds_left() <= 0 and not self._lease.may_expire:
            self._lease.lose(ServiceUnavailable(OUT_OF_REACH, is_away=True))
            return None
        return self._within_lease(self._beat())

    def _within_lease(self, pause: float) -> float:
        if self._lease.may_expire:
            return pause
        return min(pause, max(0.0, self._lease.seconds_left()))

    def _beat(self) -> float:
        """Send a heartbeat; return the seconds until the next."""
        try:
            orders = self._api.heartbeat(self._lease)
        except ServiceUnavailable:
            return RETRY_SECONDS
        except IPUlseError as refusal:
            self._lease.lose(refusal)
            return 0.0
        if orders.cancel and not self._is_cancelled:
            self._is_cancelled = True
            self._on_cancel()
        if orders.finish and not self._is_finishing:
            self._is_finishing = True
            self._on_finish()
        if orders.must_return and not self._is_returned:
            self._is_returned = True
            self._on_return()
        return self._seconds
