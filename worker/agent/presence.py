"""Says to the service, now and then, that this agent is there and what it can use."""

from __future__ import annotations

import logging
import threading

from ipulse.errors import IPUlseError

from .service_api import ServiceAPI
from .settings import Settings

EVERY_SECONDS = 30.0
RETRY_SECONDS = 2.0  # after one that was not heard

_log = logging.getLogger(__name__)


class Presence:
    """A thread that announces; nothing that an attempt does depends on it."""

    def __init__(self, api: ServiceAPI, settings: Settings) -> None:
        self._api = api
        self._settings = settings
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        pause = 0.0
        is_heard = True
        while not self._ended.wait(pause):
            try:
                self._api.announce(self._settings.name, self._settings.device_kinds)
            except IPUlseError as error:
                if is_heard:  # once for each time that the service is away
                    _log.warning("not_announced", extra={"why": error.message})
                is_heard, pause = False, RETRY_SECONDS
            else:
                is_heard, pause = True, EVERY_SECONDS
