"""Tries the sandbox of documents, so that no request has to wait for that."""

from __future__ import annotations

from ipulse_core.repeating_thread import RepeatingThread
from ipulse_service.reading.isolation import PROBE_SECONDS, Isolation

STOP_SECONDS = 1.0  # a probe that is silent takes longer; the thread keeps no program alive


class SandboxProber(RepeatingThread):
    """A thread that tries the sandbox until it works."""

    def __init__(self, isolation: Isolation) -> None:
        super().__init__("sandbox_probe", self._probe, retry_seconds=PROBE_SECONDS, is_daemon=True)
        self._isolation = isolation

    def stop(self, seconds: float | None = STOP_SECONDS) -> None:
        """Returns once the thread has ended, or soon."""
        super().stop(seconds)

    def _probe(self) -> float | None:
        return None if self._isolation.refreshed()[0] in ("bubblewrap", "off") else PROBE_SECONDS
