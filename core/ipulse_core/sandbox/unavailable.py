"""The error of a worker without a sandbox."""

from __future__ import annotations

from ipulse_core.errors import Unavailable


class SandboxUnavailable(Unavailable):
    """This worker cannot run code of users in a sandbox."""

    code = "sandbox_unavailable"


class SandboxSilent(SandboxUnavailable):
    """The sandbox did not answer in time: nobody knows whether there is one."""
