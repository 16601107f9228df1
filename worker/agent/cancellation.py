"""Hears of a cancel when it is asked for, between two heartbeats."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from ipulse.errors import IPUlseError

from .lease import Lease
from .service_api import ServiceAPI, ServiceUnavailable

WAIT_SECONDS = 20  # that the service may hold an answer back
PAUSE_SECONDS = 2.0  # after an answer that did not come, or came at once without news


class CancelWatch:
    """Asks while its context is open. The heartbeat tells of a cancel too; this only is sooner.

    Its thread is not waited for: a question may be under way that the service holds back.
    """

    def __init__(self, api: ServiceAPI, lease: Lease, on_cancel: Callable[[], None]) -> None:
        self._api = api
        self._lease = lease
        self._on_cancel = on_cancel
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cancel-watch", daemon=True)
        lease.on_loss(lambda why: self._ended.set())

    def __enter__(self) -> CancelWatch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            try:
                orders = self._api.orders(self._lease, WAIT_SECONDS)
            except ServiceUnavailable:
                pause = PAUSE_SECONDS
                continue
            except IPUlseError:
                return  # the attempt is over, or the service knows no such question
            if orders.cancel and not self._ended.is_set():
                self._on_cancel()
                return
            pause = 0.0 if orders.was_held else PAUSE_SECONDS
