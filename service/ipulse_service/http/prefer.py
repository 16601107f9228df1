"""The Prefer header (RFC 7240): how long a response may wait for a change."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Header, Response

MAX_WAIT_SECONDS = 30

_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?:[,;]|$)", re.IGNORECASE)


def up_to(longest: int) -> Callable[[Response, str], Awaitable[int]]:
    """Returns a dependency: the N of `Prefer: wait=N`, at most `longest`, and 0 without it.

    It confirms the preference in a header of the response.
    """
    meaning = f"`wait=N`: wait up to N seconds, at most {longest}."

    async def wait_seconds(
        response: Response, prefer: Annotated[str, Header(description=meaning)] = ""
    ) -> int:
        match = _WAIT.search(prefer)
        if match is None:
            return 0
        seconds = min(int(match.group(1)), longest)
        response.headers["preference-applied"] = f"wait={seconds}"
        return seconds

    return wait_seconds
