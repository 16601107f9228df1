"""The agent's retry policy for a service that is unavailable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.service_responses import ServiceUnavailable

T = TypeVar("T")

FIRST_PAUSE = 0.1  # seconds; each pause is twice as long as the previous one
LONGEST_PAUSE = 2.0
TRIES = 12  # the pauses between them add up to 15 s, half a lease


def retry_while_unavailable(
    call: Callable[[], T],
    pause: Callable[[float], bool],
    tries: int = TRIES,
    *,
    outlasts_absence: bool = False,
) -> T:
    """Call until it succeeds: repeat after ServiceUnavailable, never after another error.

    `pause` sleeps for the given seconds and returns True to end the retries. With
    `outlasts_absence` only errors of a service that is there count as tries. Raises the last
    ServiceUnavailable, or the other error.
    """
    delay = FIRST_PAUSE
    failures = 0
    while True:
        try:
            return call()
        except ServiceUnavailable as error:
            failures += not (outlasts_absence and error.is_away)
            if failures >= tries or pause(min(max(delay, error.retry_after), LONGEST_PAUSE)):
                raise
            delay = min(2 * delay, LONGEST_PAUSE)


def retry_transfer(call: Callable[[], T], pause: Callable[[float], bool], lease: AttemptLease) -> T:
    """Send or fetch a file as `retry_while_unavailable`; outlast an absent service.

    A failure that the service did not explain is no absence if it has answered a heartbeat since
    the last one: a damaged file ends its download early, and a proxy may cut large bodies.
    """
    renewals = lease.renewals

    def transfer() -> T:
        nonlocal renewals
        try:
            return call()
        except ServiceUnavailable as error:
            before, renewals = renewals, lease.renewals
            if renewals > before and not error.remote_code:
                error.is_away = False
            raise

    return retry_while_unavailable(transfer, pause, outlasts_absence=True)
