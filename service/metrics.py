"""Answers by route template, counted for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict

NO_ROUTE = "none"  # what nobody answers to is one line, whatever paths are tried
# In seconds, as Prometheus's own clients have them; the last count is of what took longer.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)


class Times:
    """How many answers took how long."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0  # of all together

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


class Metrics:
    """Of one application, so that two in one process do not mix. Its event loop alone counts."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, str]] = Counter()  # by method, route and status
        self.times: defaultdict[tuple[str, str], Times] = defaultdict(Times)  # by method and route

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        self.requests[method, route, str(status)] += 1
        self.times[method, route].add(seconds)
