"""Levels of log lines, and those that are at least as severe as another."""

from __future__ import annotations

from typing import get_args

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import Level

LEVELS: tuple[str, ...] = get_args(Level)  # from the least severe


def levels_from(level: str | None) -> tuple[str, ...]:
    """Return a level and those that are more severe. Raises InvalidInput for an unknown one."""
    if level is None:
        return LEVELS
    if level not in LEVELS:
        detail = f"must be one of {', '.join(LEVELS)}; got {level[:60]!r}"
        raise InvalidInput([Problem("/level", "not_a_choice", detail)], "there is no such level")
    return LEVELS[LEVELS.index(level) :]
