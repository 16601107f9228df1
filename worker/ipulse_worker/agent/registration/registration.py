"""Says to the service, now and then, that this agent is there and what it can use."""

from __future__ import annotations

import logging
import threading

from ipulse_core.errors import IPUlseError
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.retry_policy import patiently
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.settings import Settings

EVERY_SECONDS = 30.0
RETRY_SECONDS = 2.0  # after patience with a service that is away has ended, or a refusal

_log = logging.getLogger(__name__)


class Presence:
    """A thread that announces; nothing that an attempt does depends on it."""

    def __init__(self, api: ServiceAPI, settings: Settings, quarantine: Quarantine) -> None:
        self._api = api
        self._settings = settings
        self._quarantine = quarantine
        self._has_news = threading.Event()
        self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._has_ended = True
        self._has_news.set()

    def tell(self) -> None:
        """Says it now, because something has changed."""
        self._has_news.set()

    def _run(self) -> None:
        pause = 0.0
        is_heard = True
        while True:
            self._has_news.wait(pause)
            self._has_news.clear()
            if self._has_ended:
                return
            try:
                # At a stack's start the service may be a moment behind.
                patiently(self._announce, self._has_news.wait)
            except IPUlseError as error:
                if is_heard and not self._has_ended:  # once for each time that it is away
                    _log.warning("not_announced", extra={"why": error.message})
                is_heard, pause = False, RETRY_SECONDS
            else:
                is_heard, pause = True, EVERY_SECONDS

    def _announce(self) -> None:
        self._api.announce(
            self._settings.name, self._settings.device_kinds, self._quarantine.resting
        )
