"""Limits of a process that reads a document which anybody may have written."""

from __future__ import annotations

import os
import resource
import signal

MEMORY_BYTES = 3 * 2**30  # of addresses
CPU_SECONDS = 300
OPEN_FILES = 256
SECONDS = 660  # of the clock: its parent, which ends it earlier, may have been killed
_CPU_GRACE_SECONDS = 5


def limit_process(memory_bytes: int = MEMORY_BYTES, cpu_seconds: int = CPU_SECONDS) -> None:
    """Limits this process for good. Children of it would be limited too; it starts none."""
    limits = {
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limits.items():
        _, most = resource.getrlimit(kind)
        # The kernel kills a process at the hard limit of its time, and says why at the soft one.
        hard = limit + _CPU_GRACE_SECONDS if kind == resource.RLIMIT_CPU else limit
        if most != resource.RLIM_INFINITY:
            limit, hard = min(limit, most), min(hard, most)
        resource.setrlimit(kind, (limit, hard))
    signal.alarm(SECONDS)
    os.nice(10)
