"""The retry policy of the client.

Every call may be retried: reading changes nothing, a submission has an idempotency key, and a
second cancel has no effect.
"""

from __future__ import annotations

import random
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import httpx

from ipulse.stack.tls import distrust_in
from ipulse_core.errors import Unavailable

FIRST_DELAY = 0.2  # seconds; doubles with every failure
LONGEST_DELAY = 5.0
FOLLOWING = 2  # times as many tries for long calls, which may meet a restart of the service
UPLOADING = 4  # times as many for uploads, which outlast the restart of a busy service
LONGEST_REQUESTED = 60.0  # a longer Retry-After is reported as an error

_RETRIED = (429, 502, 503, 504)


class RetryPolicy:
    """Counts consecutive failures; returns the seconds to wait, or raises Unavailable."""

    def __init__(self, url: str, limit: int) -> None:
        self._url = url
        self._limit = limit
        self._failures = 0

    def progressed(self) -> None:
        """Reset the count, because new data have arrived."""
        self._failures = 0

    def after_error(self, error: httpx.TransportError | None) -> float:
        """Return the seconds until the next try after a connection failed (None: ended early)."""
        if isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
            raise Unavailable(f"{self._url}: {error}") from error
        if why := distrust_in(error):
            raise Unavailable(f"{self._url}: {why}") from error
        if self._spent():
            raise Unavailable(self._message(error)) from error
        return self._delay()

    def after_answer(self, response: httpx.Response) -> float | None:
        """Return the seconds until the next try, or None if the response is final."""
        # A conflict with Retry-After means that the idempotency key is in use.
        is_in_use = response.status_code == 409 and "retry-after" in response.headers
        if response.status_code not in _RETRIED and not is_in_use:
            return None
        requested = _retry_after(response)
        if self._spent() or requested > LONGEST_REQUESTED:
            return None
        return max(requested, self._delay())

    def _spent(self) -> bool:
        self._failures += 1
        return self._failures > self._limit

    def _delay(self) -> float:
        delay: float = min(LONGEST_DELAY, FIRST_DELAY * 2 ** (self._failures - 1))
        return delay * random.uniform(0.5, 1.0)  # so that clients do not retry at the same time

    def _message(self, error: httpx.TransportError | None) -> str:
        if isinstance(error, httpx.ConnectError):
            return f"no service at {self._url}: start one with `ipulse up`"
        if isinstance(error, httpx.TimeoutException):
            return f"the service at {self._url} does not answer in time"
        how = "the stream ended early" if error is None else str(error) or type(error).__name__
        hint = ""
        if error is not None and self._url.startswith("http://"):
            hint = " (if it uses TLS, its address begins with https://)"
        return f"the connection to {self._url} keeps breaking: {how}{hint}"


def _retry_after(response: httpx.Response) -> float:
    """Return the seconds in Retry-After: a number or a date (RFC 9110, section 10.2.3)."""
    text = response.headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return 0.0
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())
