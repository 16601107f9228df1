"""SIGTERM and SIGHUP act as Ctrl-C, so that a command cleans up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt, unless they are ignored (`nohup`)."""
    former = {
        number: signal.signal(number, _interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
