"""The form of an idempotency key, which client and service check."""

from __future__ import annotations

import re

from ipulse_core.errors import InvalidInput, Problem

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def check_key(key: str) -> str:
    """Return the key. Raises InvalidInput if it is not a valid idempotency key."""
    if not _KEY.fullmatch(key):
        detail = "must have 1 to 255 printable ASCII characters without spaces"
        raise InvalidInput([Problem("/header/idempotency-key", "wrong_form", detail)])
    return key
