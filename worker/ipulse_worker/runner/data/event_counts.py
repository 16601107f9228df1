"""Counts of a data set's events: converted to spikes, repeated or dropped."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Callable, Dict, Iterable, Optional, Union


@dataclass(frozen=True)
class EventCounts:
    """Events of all samples, by what became of them; kept and dropped ones add up to `read`."""

    read: int = 0
    kept: int = 0  # as input spikes
    repeated: int = 0  # another event had the same sample, step and channel
    outside: int = 0  # before the first step or after the last
    over_capacity: int = 0  # more than the input's slots in one step; the kept are a random choice
    first_ms: Optional[float] = None  # earliest time of an event of any sample, if there are times
    last_ms: Optional[float] = None

    def __add__(self, other: EventCounts) -> EventCounts:
        return EventCounts(
            read=self.read + other.read,
            kept=self.kept + other.kept,
            repeated=self.repeated + other.repeated,
            outside=self.outside + other.outside,
            over_capacity=self.over_capacity + other.over_capacity,
            first_ms=_extreme(min, self.first_ms, other.first_ms),
            last_ms=_extreme(max, self.last_ms, other.last_ms),
        )

    def to_json(self) -> Dict[str, Union[int, float, None]]:
        """Return the counts by name."""
        return asdict(self)

    def __str__(self) -> str:
        lost = {
            "repeated in a step and channel": self.repeated,
            "outside the time steps": self.outside,
            "over the input's capacity": self.over_capacity,
        }
        dropped = "".join(f", {number:,} {what}" for what, number in lost.items() if number)
        return f"{self.kept:,} input spikes from {self.read:,} events{dropped}"


def _extreme(
    choose: Callable[[Iterable[float]], float], one: Optional[float], other: Optional[float]
) -> Optional[float]:
    """Return the chosen one of those times that there are."""
    times = [time for time in (one, other) if time is not None]
    return choose(times) if times else None
