"""Tries the sandbox of documents, so that no request has to wait for that."""

from __future__ import annotations

import logging
import threading

from ipulse_service.reading.isolation import PROBE_SECONDS, Isolation

STOP_SECONDS = 1.0  # a probe that is silent takes longer; the thread keeps no program alive

_log = logging.getLogger(__name__)


class SandboxProber:
    """A thread that tries the sandbox until it works."""

    def __init__(self, isolation: Isolation) -> None:
        self._isolation = isolation
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sandbox-prober", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Returns once the thread has ended, or soon."""
        self._stopping.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._isolation.refreshed()[0] in ("bubblewrap", "off"):
                    return
            except Exception:  # noqa: BLE001 - without this thread, nobody sees a repaired sandbox
                _log.exception("sandbox_probe_failed")
            self._stopping.wait(PROBE_SECONDS)
