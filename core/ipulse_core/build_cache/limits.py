"""How much a cache of executables may hold, and for how long what nobody uses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple, Optional

LIMIT_BYTES = 2 * 2**30
LIMIT_VARIABLE = "IPULSE_EXECUTABLE_BYTES"
LIMIT_DAYS = 90
DAYS_VARIABLE = "IPULSE_EXECUTABLE_DAYS"
_DAY_SECONDS = 24 * 3600.0


class Entry(NamedTuple):
    """What lies in a cache; they sort by when they were used last."""

    used: float  # seconds since 1970
    bytes: int
    path: Path


class Limits(NamedTuple):
    """Of one cache."""

    bytes: int
    days: float  # since its last use

    @classmethod
    def of_environment(cls, bytes: Optional[int] = None, days: Optional[float] = None) -> Limits:
        """What is given, else what the variables name, else the limits above.

        Raises ValueError for a limit that is no number.
        """
        bytes = _number(LIMIT_VARIABLE, LIMIT_BYTES, "bytes") if bytes is None else bytes
        days = _number(DAYS_VARIABLE, LIMIT_DAYS, "days") if days is None else days
        return cls(bytes, days)

    def beyond(self, entries: Iterable[Entry], now: float) -> Iterator[Entry]:
        """What has to go: all that is too old, then the longest unused until the rest fits."""
        listed = sorted(entries)
        total = sum(entry.bytes for entry in listed)
        oldest = now - self.days * _DAY_SECONDS
        for entry in listed:
            if total <= self.bytes and entry.used >= oldest:
                return
            total -= entry.bytes
            yield entry


def _number(variable: str, default: int, what: str) -> int:
    named = os.environ.get(variable)
    if not named:
        return default
    if not named.isdigit():
        raise ValueError(f"{variable} must be a number of {what}; got {named!r}")
    return int(named)
