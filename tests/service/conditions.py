"""Waits for what must come true, and says what did not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE_SECONDS = 30.0


def eventually(look: Callable[[], T], seconds: float = DEADLINE_SECONDS) -> T:
    """The first true value of `look`; fails when there is none in time."""
    deadline = time.monotonic() + seconds
    pause = 0.01  # longer and longer, so that looking takes little from what is waited for
    while True:
        value = look()
        if value:
            return value
        assert time.monotonic() < deadline, f"{look} stayed {value!r} for {seconds:g} s"
        time.sleep(pause)
        pause = min(1.25 * pause, 0.1)
