"""Ids: three letters for the kind, and random hexadecimal digits."""

from __future__ import annotations

import re
import secrets

DIGITS = 24
ARTIFACT, ATTEMPT, JOB, SWEEP, UPLOAD = "art", "att", "job", "swp", "upl"
MESSAGE, WEBHOOK, RESERVATION = "msg", "whk", "rsv"

_IDS = {
    kind: re.compile(f"{kind}_[0-9a-f]{{{DIGITS}}}")
    for kind in (ARTIFACT, ATTEMPT, JOB, MESSAGE, RESERVATION, SWEEP, UPLOAD, WEBHOOK)
}

# For schemas.
JOB_ID = f"^{_IDS[JOB].pattern}$"
JOB_ID_PREFIX = f"^{JOB}_[0-9a-f]{{0,{DIGITS}}}$"


def new_id(kind: str) -> str:
    """Return a random id."""
    return f"{kind}_{secrets.token_hex(DIGITS // 2)}"


def is_id(kind: str, text: str) -> bool:
    """Return whether a text is an id of this kind."""
    return _IDS[kind].fullmatch(text) is not None


def short_id(resource_id: str) -> str:
    """Return the digits of an id by which commands and tables name a job or sweep."""
    return resource_id.partition("_")[2][:8]
