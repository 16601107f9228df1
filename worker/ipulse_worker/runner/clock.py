"""One time scale for a runner's life, and what happened when on it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Dict, Iterator, List


class Clock:
    """Monotonic seconds since the clock was made."""

    def __init__(self) -> None:
        self._zero = time.perf_counter()

    def now(self) -> float:
        return time.perf_counter() - self._zero


@dataclass(frozen=True)
class Span:
    """Something that took from `start` to `end`, in seconds of the clock."""

    category: str  # phase, epoch, step, part, kernel, evaluation, checkpoint
    name: str
    start: float
    end: float
    figures: Dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return self.end - self.start


class Timeline:
    """The spans of an attempt, in the order in which they ended."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.spans: List[Span] = []

    @contextmanager
    def span(self, category: str, name: str) -> Iterator[None]:
        """Records the block, also if it ends with an error."""
        start = self.clock.now()
        try:
            yield
        finally:
            self.spans.append(Span(category, name, start, self.clock.now()))

    def of(self, category: str) -> List[Span]:
        return [span for span in self.spans if span.category == category]

    def seconds(self, category: str) -> float:
        return sum(span.seconds for span in self.of(category))


def utc_now() -> str:
    """RFC 3339 in UTC with milliseconds."""
    now = datetime.now(timezone.utc)
    return now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z"
