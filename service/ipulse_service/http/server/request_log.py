"""The log of requests: every one of a caller with a token, and a few of those without.

Anybody who reaches the service can send requests without a token. Only the first of them are logged
in each window of time, then how many others there were. Health probes that succeed are not logged.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

WINDOW_SECONDS = 10.0
WINDOW_LINES = 20  # in each window, of requests without a valid token
MAX_PATH = 256  # logged characters of such a request's path
PROBES = frozenset({"/healthz", "/readyz"})

_log = logging.getLogger(__name__)


class LineLimit:
    """Admits so many lines in a window, and then logs how many of each kind were left out."""

    def __init__(self, action: str) -> None:
        """`action` is that of the line that counts the others."""
        self._action = action
        self._lock = threading.Lock()
        self._window_began = -WINDOW_SECONDS  # on the monotonic clock
        self._admitted = 0
        self._left_out: Counter[str] = Counter()

    def admits(self, kind: str) -> bool:
        """Returns whether a line of this kind may be logged, else counts it."""
        now = time.monotonic()
        with self._lock:
            if now >= self._window_began + WINDOW_SECONDS:
                self._window_began = now
                self._admitted = 0
            if self._admitted < WINDOW_LINES:
                self._admitted += 1
                return True
            if not self._left_out:
                timer = threading.Timer(self._window_began + WINDOW_SECONDS - now, self._report)
                timer.daemon = True
                timer.start()
            self._left_out[kind] += 1
            return False

    def _report(self) -> None:
        with self._lock:
            left_out, self._left_out = self._left_out, Counter()
        counts = {"count": left_out.total(), "by_kind": dict(left_out)}
        _log.warning(self._action, extra={**counts, "seconds": WINDOW_SECONDS})


class RequestLog:
    """Logs requests after their response."""

    def __init__(self) -> None:
        self._without_token = LineLimit("requests_not_logged")

    def write(self, facts: Mapping[str, Any], has_token: bool) -> None:
        """Logs a request: `facts` are its fields, among them `path` and `status`."""
        path, status = facts["path"], facts["status"]
        if path in PROBES and status == 200:
            return
        if has_token:
            _log.info("request", extra=dict(facts))
        elif self._without_token.admits(str(status)):
            _log.info("request", extra={**facts, "path": path[:MAX_PATH]})


class WarningLimit(logging.Filter):
    """Limits the warnings of loggers that strangers can cause, each with its own request."""

    LOGGERS = ("uvicorn.error", "ipulse_service.http.problems", "ipulse_service.db.engine")

    def __init__(self) -> None:
        super().__init__()
        self._limit = LineLimit("warnings_not_logged")

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is logged."""
        if record.levelno != logging.WARNING:
            return True
        return self._limit.admits(record.getMessage()[:80])

    @classmethod
    def install(cls) -> None:
        """Limits the warnings of all these loggers, each by itself."""
        for name in cls.LOGGERS:
            logging.getLogger(name).addFilter(cls())
