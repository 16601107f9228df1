"""The clock of a runner, and the timeline of an attempt."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Dict, Iterator, List, Optional


class Clock:
    """Measures monotonic seconds since its creation, or since an earlier time."""

    def __init__(self) -> None:
        self._zero = time.perf_counter()

    def now(self) -> float:
        """Return the seconds since the creation, or the earlier time."""
        return time.perf_counter() - self._zero

    def begin_earlier(self, seconds: float) -> None:
        """Count from a time so many seconds earlier."""
        self._zero -= seconds


@dataclass(frozen=True)
class Span:
    """An activity from `start` to `end`, in seconds of the clock."""

    category: str  # phase, start, epoch, step, part, kernel, evaluation, checkpoint
    name: str
    start: float
    end: float
    figures: Dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The duration."""
        return self.end - self.start


class Timeline:
    """The spans of an attempt, ordered by their ends."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.spans: List[Span] = []
        self.assigned_at = 0.0  # when the runner got its assignment

    def begin_earlier(self, seconds: float) -> None:
        """Count from when the agent got the job, so many seconds before the assignment."""
        self.clock.begin_earlier(seconds)
        self.assigned_at = seconds

    @contextmanager
    def span(self, category: str, name: str, start: Optional[float] = None) -> Iterator[None]:
        """Record the duration of the block, also if it raises.

        start: when it began, if that is not now.
        """
        start = self.clock.now() if start is None else start
        try:
            yield
        finally:
            self.spans.append(Span(category, name, start, self.clock.now()))

    def of(self, category: str) -> List[Span]:
        """Return the spans of a category."""
        return [span for span in self.spans if span.category == category]

    def seconds(self, category: str) -> float:
        """Return the total duration of a category."""
        return sum(span.seconds for span in self.of(category))


def utc_now() -> str:
    """Return the time in UTC in RFC 3339 format with milliseconds."""
    now = datetime.now(timezone.utc)
    return now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z"
