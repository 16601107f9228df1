"""How long the agent keeps asking a service that does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ipulse_worker.agent.service_responses import ServiceUnavailable

T = TypeVar("T")

FIRST_PAUSE = 0.1  # seconds; each pause is twice the one before
LONGEST_PAUSE = 2.0
TRIES = 12  # the pauses between them add up to 15 s, which is how long a lease lasts


def patiently(call: Callable[[], T], pause: Callable[[float], bool], tries: int = TRIES) -> T:
    """Calls until it works: again after ServiceUnavailable, never after a refusal.

    `pause` sleeps for so many seconds and returns True where there is no point in going on.
    Raises the last ServiceUnavailable, or the refusal.
    """
    delay = FIRST_PAUSE
    for _ in range(tries - 1):
        try:
            return call()
        except ServiceUnavailable as error:
            if pause(min(max(delay, error.retry_after), LONGEST_PAUSE)):
                raise
            delay *= 2
    return call()
