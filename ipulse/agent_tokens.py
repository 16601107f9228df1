"""Tokens of local agents: each follows from the key of the service's home and the agent's name."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import socket

PREFIX = "ipa_"
_FORM = re.compile(PREFIX + r"([A-Za-z0-9][A-Za-z0-9._-]{0,62})_([A-Za-z0-9_-]{43})")
_HOST_LENGTH = 48  # of the host's part in the name of an agent

JOIN = (
    "agents have tokens of their own; `ipulse agent token` on the service's machine prints the "
    "command that joins: ipulse agent join URL --token ipj_..."
)


def token_of(key: bytes, name: str) -> str:
    """Returns the token of the local agent with this name."""
    digest = hmac.digest(key, f"agent/{name}".encode(), hashlib.sha256)
    return f"{PREFIX}{name}_{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def named_in(token: str) -> str | None:
    """Returns the agent's name in a token, None if the text has not the form of one."""
    match = _FORM.fullmatch(token)
    return match.group(1) if match else None


def verified(key: bytes, token: str) -> str | None:
    """Returns the name of the agent that a token belongs to, None for a forged one."""
    name = named_in(token)
    return name if name and hmac.compare_digest(token, token_of(key, name)) else None


def local_name(key: bytes, process: str) -> str:
    """Returns the name of a local agent, the same after each restart, by that of its process.

    It contains the host, and a part that differs between homes with one database.
    """
    host = re.sub("[^A-Za-z0-9._-]+", "-", socket.gethostname()).strip("._-")[:_HOST_LENGTH]
    home = hashlib.sha256(key).hexdigest()[:4]
    own = process.removeprefix("agent").removeprefix("-")  # "agent", "agent-2", ...
    return "-".join(filter(None, (host or "agent", home, own)))
