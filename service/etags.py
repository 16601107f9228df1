"""Entity tags: does the client have this version already?"""

from __future__ import annotations

import re

_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7e]*)"')


def quoted(version: object) -> str:
    """A strong entity tag."""
    return f'"{version}"'


def matches(condition: str | None, version: object) -> bool:
    """Whether an If-None-Match header names this version; a missing one names nothing."""
    if condition is None:
        return False
    return condition.strip() == "*" or str(version) in _TAG.findall(condition)
