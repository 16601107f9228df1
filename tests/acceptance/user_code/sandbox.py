"""Asks whether programs of users can run in a sandbox on this machine."""

from __future__ import annotations

from functools import cache

from ipulse_core.sandbox.bubblewrap import require_bubblewrap
from ipulse_core.sandbox.unavailable import SandboxUnavailable


@cache
def sandbox_problem() -> str:
    """Returns why there is no sandbox here; an empty text if there is one."""
    try:
        require_bubblewrap()
    except SandboxUnavailable as problem:
        return str(problem)
    return ""
