"""The limits of a sandboxed program."""

from __future__ import annotations

import os
from typing import List, NamedTuple

OPEN_FILES = 1024
SPARE_PROCESSES = 4  # beyond those of the limit: two of each bubblewrap, the shell around a command
_SPARE_BYTES = 2**31  # of the address space, beyond twice the memory: stacks and maps of threads


class SandboxLimits(NamedTuple):
    """The limits of all processes of a sandbox together."""

    seconds: float
    memory_bytes: int
    disk_bytes: int
    processes: int  # and threads


def resource_limits(limits: SandboxLimits, is_grouped: bool, is_off: bool) -> List[str]:
    """Return the command that sets the limits which the kernel enforces on each process or user.

    Args:
        limits: of all processes.
        is_grouped: a control group limits the number of processes, and says if that happened.
        is_off: there is no sandbox, so that all processes of the agent's user would count.
    """
    cores = len(os.sched_getaffinity(0))
    processes = limits.processes + SPARE_PROCESSES * (4 if is_grouped else 1)
    of_user = [] if is_off else [f"--nproc={processes}"]
    return [
        "prlimit",
        *of_user,
        f"--as={2 * limits.memory_bytes + _SPARE_BYTES}",
        f"--cpu={max(1, round(limits.seconds * cores))}",
        f"--fsize={limits.disk_bytes}",
        f"--nofile={OPEN_FILES}",
        "--msgqueue=0",
        "--core=0",
        "--",
    ]
