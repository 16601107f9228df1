"""Which agents this service understands: not all that are older or newer."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header

from ipulse_core import messages
from ipulse_core.errors import Conflict


class WrongProtocol(Conflict):
    """Agent and service are of versions that do not understand each other."""

    code = "wrong_protocol"


def check(
    spoken: Annotated[int, Header(alias=messages.PROTOCOL_HEADER, ge=1, le=10**6)] = 1,
) -> None:
    """Raises WrongProtocol, and says which of the two to upgrade.

    Asked where an agent begins something. What it holds already it may go on with: an upgrade
    takes no job away.
    """
    served = f"this agent speaks protocol {spoken}, the service {_served()}"
    if spoken < messages.OLDEST_PROTOCOL:
        raise WrongProtocol(f"{served}: upgrade the agent; others go on with its jobs")
    if spoken > messages.PROTOCOL:
        raise WrongProtocol(f"{served}: upgrade the service first, then its agents")


def _served() -> str:
    oldest, newest = messages.OLDEST_PROTOCOL, messages.PROTOCOL
    return str(newest) if oldest == newest else f"{oldest} to {newest}"


KNOWN = [Depends(check)]
