"""Checks the protocol number of agents: older and newer ones are refused with a reason."""

from __future__ import annotations

from ipulse_core import messages
from ipulse_core.errors import Conflict, StaleToken


class WrongProtocol(Conflict):
    """Agent and service are of versions that do not understand each other."""

    code = "wrong_protocol"


_UPLOAD_PROTOCOL = 5  # the first protocol that resumes uploads by offset


def check(spoken: int) -> None:
    """Raises WrongProtocol with a message that says which side to upgrade.

    It is called for requests that begin something: registration and claims.
    """
    versions = f"this agent uses protocol {spoken}, the service {_served()}"
    if spoken < messages.OLDEST_PROTOCOL:
        raise WrongProtocol(f"{versions}: upgrade the agent; meanwhile other agents run its jobs")
    if spoken > messages.PROTOCOL:
        raise WrongProtocol(f"{versions}: upgrade the service first, then its agents")


def check_upload(spoken: int) -> None:
    """Raises StaleToken for an agent of 0.1: this service does not understand its uploads.

    Such an agent stops its attempt, and a newer one resumes the job from its checkpoint.
    """
    if spoken < _UPLOAD_PROTOCOL:
        raise StaleToken(
            "this agent is too old for the service: upgrade it; its job runs elsewhere"
        )


def _served() -> str:
    oldest, newest = messages.OLDEST_PROTOCOL, messages.PROTOCOL
    return str(newest) if oldest == newest else f"{oldest} to {newest}"
