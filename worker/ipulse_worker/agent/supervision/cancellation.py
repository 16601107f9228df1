"""Hears of a cancel when it is asked for, between two heartbeats."""

from __future__ import annotations

from collections.abc import Callable

from ipulse_core.errors import IPUlseError
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.supervision.lease import Lease
from ipulse_worker.agent.supervision.polling_thread import Companion

FIRST_SECONDS = 0.2  # of an attempt, in which nobody is likely to cancel and its start is busy
WAIT_SECONDS = 20  # that the service may hold an answer back
PAUSE_SECONDS = 2.0  # after an answer that did not come, or came at once without news


class CancelWatch(Companion):
    """The heartbeat tells of a cancel too; this only is sooner.

    It is not waited for: a question may be under way that the service holds back.
    """

    def __init__(self, api: ServiceAPI, lease: Lease, on_cancel: Callable[[], None]) -> None:
        super().__init__("cancel-watch", lease, is_awaited=False)
        self._api = api
        self._on_cancel = on_cancel

    def first_pause(self) -> float:
        return FIRST_SECONDS

    def ask(self) -> float | None:
        try:
            orders = self._api.orders(self._lease, WAIT_SECONDS)
        except ServiceUnavailable:
            return PAUSE_SECONDS
        except IPUlseError:
            return None  # the attempt is over, or the service knows no such question
        if orders.cancel and not self._ended.is_set():
            self._on_cancel()
            return None
        return 0.0 if orders.was_held else PAUSE_SECONDS
