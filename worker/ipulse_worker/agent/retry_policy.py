"""The agent's retry policy for a service that is unavailable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ipulse_worker.agent.service_responses import ServiceUnavailable

T = TypeVar("T")

FIRST_PAUSE = 0.1  # seconds; each pause is twice as long as the previous one
LONGEST_PAUSE = 2.0
TRIES = 12  # the pauses between them add up to 15 s, the duration of a lease


def retry_while_unavailable(
    call: Callable[[], T], pause: Callable[[float], bool], tries: int = TRIES
) -> T:
    """Call until it succeeds: repeat after ServiceUnavailable, never after another error.

    `pause` sleeps for the given seconds and returns True to end the retries. Raises the last
    ServiceUnavailable, or the other error.
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
