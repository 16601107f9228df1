"""Entity tags: does the client have this version already?"""

from __future__ import annotations

import re

from ipulse_core.errors import Conflict

_STRONG = re.compile(r'(?<![/\x21\x23-\x7e])"([\x21\x23-\x7e]*)"')
_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7e]*)"')


def quoted(version: str) -> str:
    """A strong entity tag."""
    return f'"{version}"'


class Changed(Conflict):
    """It is no longer in the version that If-Match names."""

    code = "precondition_failed"


def require(condition: str | None, version: str) -> None:
    """Raises Changed unless an If-Match header names this version, or there is none."""
    if condition is None or condition.strip() == "*":
        return
    # The comparison is strong: what is only about the same is not good enough to change.
    if version not in _STRONG.findall(condition):
        raise Changed()


def matches(condition: str | None, version: str) -> bool:
    """Whether an If-None-Match header names this version; a missing one names nothing."""
    if condition is None:
        return False
    return condition.strip() == "*" or version in _TAG.findall(condition)
