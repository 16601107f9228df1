"""The limits of a cache of executables: its size, and the age of unused entries."""

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
    """One file of a cache. Entries sort by the time of their last use."""

    used: float  # seconds since 1970
    bytes: int
    path: Path


class Limits(NamedTuple):
    """The limits of one cache."""

    bytes: int
    days: float  # since the last use of an entry

    @classmethod
    def of_environment(
        cls,
        bytes: Optional[int] = None,
        days: Optional[float] = None,
        variable: str = LIMIT_VARIABLE,
        default: int = LIMIT_BYTES,
    ) -> Limits:
        """Return the given limits; by default those of the environment, else the defaults above.

        variable, default: of the number of bytes.

        Raises ValueError for a variable that is not a number.
        """
        bytes = _number(variable, default, "bytes") if bytes is None else bytes
        days = _number(DAYS_VARIABLE, LIMIT_DAYS, "days") if days is None else days
        return cls(bytes, days)

    def beyond(self, entries: Iterable[Entry], now: float) -> Iterator[Entry]:
        """Yield the entries to remove: all that are too old, then the least recently used."""
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
