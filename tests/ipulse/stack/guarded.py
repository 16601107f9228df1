"""Guarded processes for tests, and the ends of processes that are not our children."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import textwrap
from pathlib import Path

from ipulse.stack.guarded_process import GuardedProcess

DEADLINE = 60.0  # seconds until a test that waits for an event is given up

# Prints the id of a grandchild that left the session and outlives its parent, then waits.
DAEMONISER = """
import os, signal, sys, time
read_end, write_end = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(write_end, str(os.getpid()).encode())
        time.sleep(600)
    os._exit(0)
os.wait()
print(os.read(read_end, 20).decode(), flush=True)
"""


def start(code: str, *, pass_fds: tuple[int, ...] = ()) -> GuardedProcess:
    return GuardedProcess(
        [sys.executable, "-c", textwrap.dedent(code)],
        environment={},
        directory=Path("/"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=pass_fds,
    )


def waiting(code: str) -> GuardedProcess:
    return GuardedProcess(
        [sys.executable, "-c", code],
        environment={"KNOWN": "before"},
        directory=Path("/"),
        stdout=subprocess.PIPE,
        waits=True,
    )


def start_without_session(code: str) -> GuardedProcess:
    """In our own session."""
    return GuardedProcess(
        [sys.executable, "-c", textwrap.dedent(code)],
        environment={},
        directory=Path("/"),
        stdout=subprocess.PIPE,
        has_session=False,
    )


def line_of(process: GuardedProcess) -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


class Watched:
    """A process that is not our child, seen through a descriptor that no other can reuse."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.descriptor = os.pidfd_open(pid)

    def ends(self, seconds: float = DEADLINE) -> bool:
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        os.close(self.descriptor)
        return bool(ready)

    def has_ended(self) -> bool:
        return self.ends(0.0)
