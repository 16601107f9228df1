"""Checks the protocol number of agents: older and newer ones are refused with a reason."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header
from pydantic import Field

from ipulse_core import messages
from ipulse_core.errors import Conflict, StaleToken
from ipulse_service.http.dependencies import DIGITS


class WrongProtocol(Conflict):
    """Agent and service are of versions that do not understand each other."""

    code = "wrong_protocol"


Protocol = Annotated[int, Field(ge=1, le=10**6), DIGITS, Header(alias=messages.PROTOCOL_HEADER)]

_UPLOAD_PROTOCOL = 5  # the first protocol that resumes uploads by offset


def check(spoken: Protocol = 1) -> None:
    """Raises WrongProtocol, whose message says which side to upgrade.

    Requests that begin something depend on it: registration and claims.
    """
    versions = f"this agent uses protocol {spoken}, the service {_served()}"
    if spoken < messages.OLDEST_PROTOCOL:
        raise WrongProtocol(f"{versions}: upgrade the agent; meanwhile other agents run its jobs")
    if spoken > messages.PROTOCOL:
        raise WrongProtocol(f"{versions}: upgrade the service first, then its agents")


def check_upload(spoken: Protocol = 1) -> None:
    """Raises StaleToken for an agent of 0.1, whose uploads this service does not understand.

    Such an agent stops its attempt, and a newer one resumes the job from its checkpoint.
    """
    if spoken < _UPLOAD_PROTOCOL:
        raise StaleToken(
            "this agent is too old for the service: upgrade it; its job runs elsewhere"
        )


def _served() -> str:
    oldest, newest = messages.OLDEST_PROTOCOL, messages.PROTOCOL
    return str(newest) if oldest == newest else f"{oldest} to {newest}"


KNOWN = [Depends(check)]
KNOWN_UPLOAD = [Depends(check_upload)]
