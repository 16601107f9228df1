"""Conditional requests: strong entity tags, If-Match and If-None-Match (RFC 9110, section 13.1)."""

from __future__ import annotations

import re

from ipulse_core.errors import Conflict

_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e]*)"')


def quoted(version: str) -> str:
    """Returns a strong entity tag."""
    return f'"{version}"'


class Changed(Conflict):
    """It is no longer in the version that If-Match names."""

    code = "precondition_failed"


def require(condition: str | None, version: str) -> None:
    """Raises Changed unless the If-Match header names this version or is absent."""
    if condition is None or condition.strip() == "*":
        return
    if version not in [tag for weak, tag in _TAG.findall(condition) if not weak]:
        raise Changed()


def matches(condition: str | None, version: str) -> bool:
    """Checks whether an If-None-Match header names this version; weak tags count, too."""
    if condition is None:
        return False
    return condition.strip() == "*" or version in [tag for _, tag in _TAG.findall(condition)]
