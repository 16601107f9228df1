"""Keeps an attempt's lease alive, and hears of its cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from ipulse.errors import IPUlseError

from .lease import Lease
from .service_api import ServiceAPI, ServiceUnavailable

OUT_OF_REACH = "the service was out of reach for as long as the lease lasts"
RETRY_SECONDS = 1.0  # after a heartbeat that was not answered


class Heartbeat:
    """Beats while its context is open.

    The lease is lost when the service refuses it, and also when nobody answered for as long as
    it lasts: by then another attempt may hold the job, and whatever this one says is refused.
    """

    def __init__(
        self, api: ServiceAPI, lease: Lease, seconds: float, on_cancel: Callable[[], None]
    ) -> None:
        self._api = api
        self._lease = lease
        self._seconds = seconds
        self._on_cancel = on_cancel
        self._is_cancelled = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        lease.on_loss(lambda why: self._ended.set())

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause = self._seconds
        with self._lease.lost_by_failure("heartbeat"):
            while not self._ended.wait(min(pause, max(0.0, self._lease.seconds_left()))):
                # A process that was stopped, or a machine that slept, wakes here: it asks
                # nobody, because the answer is known.
                if self._lease.seconds_left() <= 0:
                    self._lease.lose(ServiceUnavailable(OUT_OF_REACH))
                    return
                pause = self._beat()

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
