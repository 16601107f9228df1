"""The threads that poll the service during an attempt: they renew its lease and learn of orders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

from ipulse_core.errors import IPUlseError
from ipulse_core.repeating_thread import RepeatingThread
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable

OUT_OF_REACH = "the service could not be reached for as long as the lease lasts"
RETRY_SECONDS = 1.0  # after a heartbeat without an answer
FIRST_SECONDS = 0.2  # no poll during the start of an attempt: it is busy, and cancels are rare
WAIT_SECONDS = 20  # for which the service may delay its answer (long polling)
PAUSE_SECONDS = 2.0  # after a failed poll, or an answer that was not delayed


class PollingThread(RepeatingThread, ABC):
    """Polls while its context is open and the lease is not lost; its failure loses the lease."""

    def __init__(
        self, name: str, lease: AttemptLease, first_pause: float, *, is_joined: bool
    ) -> None:
        """Prepare the thread.

        Args:
            name: of the thread.
            lease: its loss ends the polling.
            first_pause: seconds until the first poll.
            is_joined: whether leaving the context waits for a poll that is in progress.
        """
        super().__init__(
            name, self._poll, first_pause=first_pause, retry_seconds=None, is_daemon=True
        )
        self._lease = lease
        self._is_joined = is_joined
        lease.on_loss(lambda why: self.end())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(None if self._is_joined else 0.0)

    @abstractmethod
    def poll(self) -> float | None:
        """Send one request. Return the seconds until the next, or None to end the thread."""

    def _poll(self) -> float | None:
        with self._lease.lost_by_failure(self._name):
            return self.poll()


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
        super().__init__("heartbeat", lease, _within(lease, seconds), is_joined=True)
        self._api = api
        self._seconds = seconds
        self._on_cancel = on_cancel
        self._on_finish = on_finish
        self._on_return = on_return
        self._is_cancelled = False
        self._is_finishing = False
        self._is_returned = False

    def poll(self) -> float | None:
        """Send one heartbeat, unless the lease has expired."""
        # A process that was suspended, or a machine that slept, continues here with an expired
        # lease: the service would refuse it.
        if self._lease.seconds_left() <= 0 and not self._lease.may_expire:
            self._lease.lose(ServiceUnavailable(OUT_OF_REACH, is_away=True))
            return None
        return _within(self._lease, self._beat())

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
        super().__init__("cancel-poller", lease, FIRST_SECONDS, is_joined=False)
        self._api = api
        self._on_cancel = on_cancel
        self._on_finish = on_finish

    def poll(self) -> float | None:
        """Send one long-polling request."""
        try:
            status = self._api.cancel_status(self._lease, WAIT_SECONDS)
        except ServiceUnavailable:
            return PAUSE_SECONDS
        except IPUlseError:
            return None  # the attempt is over, or this service has no such route
        if status.cancel and not self.is_stopping:
            self._on_cancel()
            return None
        if status.finish and not self.is_stopping:
            self._on_finish()
            return None  # a cancellation after it comes with a heartbeat
        return 0.0 if status.was_delayed else PAUSE_SECONDS


def _within(lease: AttemptLease, pause: float) -> float:
    """Return a pause that ends no later than the lease."""
    return pause if lease.may_expire else min(pause, max(0.0, lease.seconds_left()))
