"""Translates stored times, which are steady, to and from the database's clock as it showed.

The clock of the database may be set. Stored times are not changed by that: an era says by how much
they are ahead of the clock from then on (see `steady_clock`). A process serves one database, whose
eras it knows here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple


class Era(NamedTuple):
    """A row of `clock_eras`. Times are steady, in milliseconds since 1970."""

    pk: int
    since: int
    ahead_ms: int  # the steady time minus the database's clock
    read_at: int  # the latest time that is known to have passed
    boot_id: str | None = None  # of the machine that stored it
    booted_ms: int | None = None  # from that machine's start to `read_at`


_eras: tuple[Era, ...] = ()  # in order; before the first, both are the same


def set_eras(eras: Sequence[Era]) -> None:
    """Replaces the known eras."""
    global _eras
    _eras = tuple(eras)


def shown(steady: int) -> int:
    """Returns what the database's clock showed, or will show, at a stored time."""
    eras = _eras
    if not eras:
        return steady
    index = bisect_right(eras, steady, key=lambda era: era.since)
    return steady - eras[index - 1].ahead_ms if index else steady


def stored(shown: int) -> int:
    """Returns the stored time at which the database's clock showed this, the last one if several.

    A moment that the clock skipped is the time of the step.
    """
    eras = _eras
    following = None
    for era in reversed(eras):
        steady = shown + era.ahead_ms
        if steady >= era.since:
            return steady if following is None else min(steady, following)
        following = era.since
    return shown if following is None else min(shown, following)


def stored_moment(moment: datetime) -> int:
    """Returns the stored time of a moment with a zone."""
    return stored(round(moment.timestamp() * 1000))
