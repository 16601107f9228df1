"""What a client prefers (RFC 7240): how long an answer may be held back for news."""

from __future__ import annotations

import re

MAX_WAIT_SECONDS = 30

_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?:[,;]|$)", re.IGNORECASE)


def wait_seconds(prefer: str) -> int | None:
    """The N of `Prefer: wait=N`, at most 30; None where there is none."""
    wanted = _WAIT.search(prefer)
    return None if wanted is None else min(int(wanted.group(1)), MAX_WAIT_SECONDS)


def applied(seconds: int | None) -> dict[str, str]:
    """The header that says the preference was honoured."""
    return {} if seconds is None else {"preference-applied": f"wait={seconds}"}
