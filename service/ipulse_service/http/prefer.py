"""The Prefer header (RFC 7240): how long a response may wait for a change."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Header, Response

MAX_WAIT_SECONDS = 30

_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?:[,;]|$)", re.IGNORECASE)


async def wait_seconds(
    response: Response,
    prefer: Annotated[
        str, Header(description=f"`wait=N`: wait up to N seconds, at most {MAX_WAIT_SECONDS}.")
    ] = "",
) -> int:
    """Returns the N of `Prefer: wait=N`, at most 30, and 0 without it; confirms it in a header."""
    match = _WAIT.search(prefer)
    if match is None:
        return 0
    seconds = min(int(match.group(1)), MAX_WAIT_SECONDS)
    response.headers["preference-applied"] = f"wait={seconds}"
    return seconds
