"""The sandbox that this machine has for code and documents of users, if it has one."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from ipulse_core.sandbox.bubblewrap import VARIABLE, is_switched_off, require_bubblewrap
from ipulse_core.sandbox.cgroup_folders import NoControlGroup, usable_hierarchies
from ipulse_core.sandbox.unavailable import SandboxSilent, SandboxUnavailable

BUBBLEWRAP, OFF, MISSING = "bubblewrap", "off", "missing"
_DELEGATE = (
    "start the worker as a service of systemd with Delegate=yes, or as root where control groups "
    "may be written to"
)


class SandboxState(NamedTuple):
    """Which driver runs what users send, and what is missing."""

    driver: str  # bubblewrap; off: the operator wants none; missing
    message: str  # why it is missing, or why its limits are only watched
    fix: str  # what an operator can do about that

    @property
    def is_available(self) -> bool:
        """Return whether this machine runs code of users."""
        return self.driver != MISSING

    def describe(self) -> str:
        """Return what is missing and what to do, in one line; empty: nothing is missing."""
        return f"{self.message}: {self.fix}" if self.fix else self.message


def sandbox_state(environment: Mapping[str, str]) -> SandboxState:
    """Return the state of the sandbox.

    environment: only IPULSE_SANDBOX is read.

    Raises SandboxSilent if it did not answer in time, which says nothing: ask again.
    """
    if is_switched_off(environment):
        return SandboxState(OFF, "", "")
    try:
        require_bubblewrap()
    except SandboxSilent:
        raise
    except SandboxUnavailable as error:
        return SandboxState(MISSING, error.message, "")
    except OSError as error:
        return SandboxState(MISSING, str(error), f"install it, or set {VARIABLE}=none")
    try:
        usable_hierarchies()
    except NoControlGroup as error:
        message = f"memory and processes are watched, not limited, because {error}"
        return SandboxState(BUBBLEWRAP, message, _DELEGATE)
    return SandboxState(BUBBLEWRAP, "", "")
