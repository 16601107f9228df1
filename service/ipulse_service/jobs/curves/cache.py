"""A cache of the points of curves, so that a zoom and a running job cost only what is new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from ipulse_service.db.engine import Transaction
from ipulse_service.jobs.curves.points import CurvePoints, CurveScope
from ipulse_service.jobs.job import JobRow

MAX_SIZE = 4_000_000  # values of 8 bytes

Result = TypeVar("Result")


class CurveCache:
    """The points of the jobs in the latest requests for curves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # the work is Python's own: threads would take turns anyway
        self._points: OrderedDict[tuple[str, CurveScope], CurvePoints] = OrderedDict()

    def use(
        self,
        transaction: Transaction,
        job: JobRow,
        scope: CurveScope,
        read: Callable[[CurvePoints], Result],
    ) -> Result:
        """Returns what `read` makes of all points of a job; it must not keep their columns."""
        key = (job.id, scope)
        with self._lock:
            points = self._points.pop(key, None) or CurvePoints(scope)
            if not points.read_new(transaction, job):
                points = CurvePoints(scope)
                points.read_new(transaction, job)
            self._points[key] = points
            result = read(points)
            self._evict()
            return result

    def _evict(self) -> None:
        size = sum(points.size for points in self._points.values())
        while size > MAX_SIZE:
            _, points = self._points.popitem(last=False)
            size -= points.size
