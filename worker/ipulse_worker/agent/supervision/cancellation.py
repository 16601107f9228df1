"""Polls for a cancellation or a finish, which arrive sooner than with the next heartbeat."""

from __future__ import annotations

from collections.abc import Callable

from ipulse_core.errors import IPUlseError
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.supervision.lease import AttemptLease
from ipulse_worker.agent.supervision.polling_thread import PollingThread

FIRST_SECONDS = 0.2  # no poll during the start of an attempt: it is busy, and cancels are rare
WAIT_SECONDS = 20  # for which the service may delay its answer (long polling)
PAUSE_SECONDS = 2.0  # after a failed poll, or an answer that was not delayed


class CancelPoller(PollingThread):
    """Long-polls for the first order to stop; the heartbeat reports it too, only later.

    Leaving its context does not wait for it: the service may still delay an answer.
    """

    def __init__(
        self,
        api: ServiceAPI,
        lease: AttemptLease,
        on_cancel: Callable[[], None],
        on_finish: Callable[[], None],
    ) -> None:
        """Prepare the thread, which calls `on_cancel` or `on_finish` once."""
        super().__init__("cancel-poller", lease, is_joined=False)
        self._api = api
        self._on_cancel = on_cancel
        self._on_finish = on_finish

    def first_pause(self) -> float:
        """Return the seconds until the first poll."""
        return FIRST_SECONDS

    def poll(self) -> float | None:
        """Send one long-polling request."""
        try:
            status = self._api.cancel_status(self._lease, WAIT_SECONDS)
        except ServiceUnavailable:
            return PAUSE_SECONDS
        except IPUlseError:
            return None  # the attempt is over, or this service has no such route
        if status.cancel and not self._ended.is_set():
            self._on_cancel()
            return None
        if status.finish and not self._ended.is_set():
            self._on_finish()
            return None  # a cancellation after it comes with a heartbeat
        return 0.0 if status.was_delayed else PAUSE_SECONDS
