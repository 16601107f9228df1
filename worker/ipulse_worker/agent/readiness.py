"""Reports to the parent process that the agent is ready."""

from __future__ import annotations

import os


def say_ready() -> None:
    """Write to the descriptor that the parent process left open, if it did."""
    descriptor = os.environ.pop("IPULSE_READY_FD", "")
    if descriptor:
        os.write(int(descriptor), b"ready\n")
        os.close(int(descriptor))
