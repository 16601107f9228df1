"""The scheduling priority (niceness) of the agent and of all its runners."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

GROUP = Path("/proc/self/autogroup")
TRIES = 5
PAUSE_SECONDS = 0.15  # Linux accepts one change per 0.1 s from unprivileged processes

_log = logging.getLogger(__name__)


def add(niceness: int) -> None:
    """Add to the niceness of this process and, if it leads its session, of the session.

    With autogroups (see sched(7)), Linux divides the processors among sessions first, so that a
    process's niceness matters only within its session. A session that another process leads, such
    as a terminal's shell, is not changed.
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
            _warn("Linux limits the rate of such changes; start the agent again")
        except OSError as error:
            _warn(f"{error}; the niceness applies only within the agent's session")
        return


def _warn(why: str) -> None:
    _log.warning("session_not_nice", extra={"why": why})


def _write(niceness: int) -> None:
    group = os.open(GROUP, os.O_WRONLY)
    try:
        os.write(group, str(niceness).encode())
    finally:
        os.close(group)
