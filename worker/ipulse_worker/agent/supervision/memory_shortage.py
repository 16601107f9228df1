"""Whether the kernel ended processes for want of memory."""

from __future__ import annotations

from pathlib import Path

VMSTAT = Path("/proc/vmstat")


def oom_kills(vmstat: Path = VMSTAT) -> int:
    """How many processes of this machine it has ended so, in containers too; 0 where it does not
    say."""
    try:
        lines = vmstat.read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
