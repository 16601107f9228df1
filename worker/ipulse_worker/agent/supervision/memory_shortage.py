"""The kernel's count of processes that it killed for lack of memory."""

from __future__ import annotations

from pathlib import Path

VMSTAT = Path("/proc/vmstat")


def oom_kills(vmstat: Path = VMSTAT) -> int:
    """Return how many processes of this machine were killed, 0 if the kernel does not say."""
    try:
        lines = vmstat.read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
