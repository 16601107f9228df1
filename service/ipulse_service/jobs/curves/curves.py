"""Curves of metrics of a job, in at most as many buckets as asked for."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from ipulse.curve_choices import Axis
from ipulse_service.db import calendar
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import store
from ipulse_service.jobs.curves.cache import CurveCache
from ipulse_service.jobs.curves.points import Column, CurvePoints, CurveScope
from ipulse_service.jobs.job import JobRow


@dataclass(frozen=True)
class Curve:
    """A metric by x, in buckets: the x and the value of its last point, the extremes, the count."""

    name: str
    total: int  # points between the bounds
    x: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    min: list[float] = field(default_factory=list)
    max: list[float] = field(default_factory=list)
    n: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class JobCurves:
    """The curves of a job, and where its attempts started."""

    job: JobRow
    x_range: tuple[float, float] | None  # of all points, whatever the bounds
    attempt_starts: list[float]
    series: list[Curve]


@dataclass(frozen=True)
class CurveRequest:
    """The points of a curve that are wanted."""

    names: frozenset[str]  # empty: all
    scope: CurveScope
    axis: Axis
    begin: float | None
    end: float | None
    points: int


def curves(
    transaction: Transaction, cache: CurveCache, job: JobRow, wanted: CurveRequest
) -> JobCurves:
    """Returns the curves of a job."""
    batch_size = _batch_size(transaction, job) if wanted.axis == "samples" else 0

    def read(points: CurvePoints) -> JobCurves:
        return _curves(job, points, wanted, batch_size)

    return cache.use(transaction, job, wanted.scope, read)


def _curves(job: JobRow, points: CurvePoints, wanted: CurveRequest, batch_size: int) -> JobCurves:
    xs = _xs(points, wanted.axis, batch_size)
    first = 0 if wanted.begin is None else bisect_left(xs, wanted.begin)
    end = len(xs) if wanted.end is None else bisect_right(xs, wanted.end)
    series = []
    for name in sorted(wanted.names & points.columns.keys() if wanted.names else points.columns):
        part = xs[first:end]
        column = _Values.of(points.columns[name], first, end)
        if name in points.sparse:
            present = [index for index, value in enumerate(column.last) if value == value]
            part, column = [part[i] for i in present], column.of_points(present)
        series.append(_curve(name, part, column, wanted.points))
    x_range = (xs[0], xs[-1]) if xs else None
    return JobCurves(job, x_range, [xs[start] for start in points.starts], series)


def _batch_size(transaction: Transaction, job: JobRow) -> int:
    training = json.loads(store.spec_of(transaction, job)).get("training")
    return int(training["batch_size"]) if training else 0  # a program reports no steps


def _xs(points: CurvePoints, axis: Axis, batch_size: int) -> list[float]:
    match axis:
        case "epoch":
            return points.epochs.tolist()
        case "step":
            return [*points.steps]
        case "samples":
            return [step * batch_size for step in points.steps]
        case "training_time":
            return points.trained.tolist()
        case "wall_time":
            return [calendar.shown(time) / 1000 for time in points.times]
        case "share":
            return [epoch / points.planned for epoch in points.epochs]


@dataclass(frozen=True)
class _Values:
    """Values of a metric at some points, as those of `Column`."""

    last: list[float]
    least: list[float]
    greatest: list[float]
    count: list[int]

    @classmethod
    def of(cls, column: Column, first: int, end: int) -> _Values:
        """Returns those from point `first` up to `end`."""
        last = column.last[first:end].tolist()
        if column.least is column.last:
            return cls(last, last, last, [1] * len(last))
        least, greatest = column.least[first:end].tolist(), column.greatest[first:end].tolist()
        return cls(last, least, greatest, column.count[first:end].tolist())

    def of_points(self, points: Sequence[int]) -> _Values:
        """Returns those at some points."""
        last, least, greatest = (
            [values[at] for at in points] for values in (self.last, self.least, self.greatest)
        )
        return _Values(last, least, greatest, [self.count[at] for at in points])


def _curve(name: str, xs: list[float], values: _Values, most: int) -> Curve:
    total = sum(values.count)
    if len(xs) <= most:
        return Curve(name, total, xs, values.last, values.least, values.greatest, values.count)
    curve = Curve(name, total)
    for begin, stop in _buckets(xs, most):
        curve.x.append(xs[stop - 1])
        curve.last.append(values.last[stop - 1])
        curve.min.append(min(values.least[begin:stop]))
        curve.max.append(max(values.greatest[begin:stop]))
        curve.n.append(sum(values.count[begin:stop]))
    return curve


def _buckets(xs: Sequence[float], count: int) -> list[tuple[int, int]]:
    """Returns the bounds of the buckets of equal width that contain points."""
    width = (xs[-1] - xs[0]) / count
    buckets = []
    begin = 0
    for number in range(1, count + 1):
        last = number == count
        stop = len(xs) if last else bisect_right(xs, xs[0] + number * width, begin)
        if stop > begin:
            buckets.append((begin, stop))
            begin = stop
    return buckets
