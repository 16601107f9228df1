"""A wait for an IPU: its limits, the job ahead, and the error at its end."""

from __future__ import annotations

import time
from typing import Callable, NamedTuple, Optional

from ipulse_core.errors import Unavailable


class DeviceUnavailable(Unavailable):
    """The worker does not have such a device, or none became free in time."""

    code = "device_unavailable"


class Holder(NamedTuple):
    """The job that uses an IPU."""

    job_id: str
    since: float  # seconds since 1970


class Wait(NamedTuple):
    """A place in the queue, and the job ahead."""

    position: int  # in the queue, from 1
    holder: Optional[Holder]  # the job that has used an IPU longest, if known

    def __str__(self) -> str:
        text = f"number {self.position} in the queue"
        if self.holder:
            seconds = max(0.0, time.time() - self.holder.since)
            text += f", behind job {self.holder.job_id}, which has used one for {seconds:.0f} s"
        return text


class WaitPolicy(NamedTuple):
    """The limits of a wait, and its callbacks."""

    poll_seconds: float  # greatest interval between two checks
    timeout_seconds: float
    check: Callable[[], None]  # raises an exception to stop the wait
    report: Callable[[Wait], None]  # called at the start and after changes
    setting: str = "device.acquire_timeout_seconds"  # that limits the wait, for messages
