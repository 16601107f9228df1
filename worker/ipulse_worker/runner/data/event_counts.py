"""Counts of a data set's events: converted to spikes, repeated or dropped."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Dict


@dataclass(frozen=True)
class EventCounts:
    """Events of all samples, by what became of them; they add up to `read`."""

    read: int = 0
    kept: int = 0  # as input spikes
    repeated: int = 0  # another event had the same sample, step and channel
    outside: int = 0  # before the first step or after the last
    over_capacity: int = 0  # more than the input's slots in one step; the kept are a random choice

    def __add__(self, other: EventCounts) -> EventCounts:
        return EventCounts(
            read=self.read + other.read,
            kept=self.kept + other.kept,
            repeated=self.repeated + other.repeated,
            outside=self.outside + other.outside,
            over_capacity=self.over_capacity + other.over_capacity,
        )

    def to_json(self) -> Dict[str, int]:
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
