"""What the agent, and with it all training, leaves of the processors to others."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

GROUP = Path("/proc/self/autogroup")
TRIES = 5
PAUSE_SECONDS = 0.15  # Linux takes one such change in a tenth of a second from those without rights

_log = logging.getLogger(__name__)


def add(niceness: int) -> None:
    """Adds to this process's niceness and, if it leads its session, to its session's.

    Where Linux shares the processors out among sessions first (sched(7), autogroup), that of a
    process counts only beside others of its own session. A session that somebody else leads,
    such as a terminal's shell, stays as it is.
    """
    if niceness == 0:
        return
    own = os.nice(niceness)
    if os.getsid(0) != os.getpid() or not GROUP.exists():
        return
    for tries_left in reversed(range(TRIES)):
        try:
            _write(own)
        except BlockingIOError:
            if tries_left:
                time.sleep(PAUSE_SECONDS)
                continue
            _warn("Linux takes few such changes at a time; start the agent again")
        except OSError as error:
            _warn(f"{error}; the agent's processes are nice only beside others of its session")
        return


def _warn(why: str) -> None:
    _log.warning("session_not_nice", extra={"why": why})


def _write(niceness: int) -> None:
    group = os.open(GROUP, os.O_WRONLY)
    try:
        os.write(group, str(niceness).encode())
    finally:
        os.close(group)
