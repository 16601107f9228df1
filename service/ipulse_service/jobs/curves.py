"""Curves of metrics: a job's metric events as columns, in at most as many buckets as asked for."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic_core import from_json
from sqlalchemy import bindparam, select

from ipulse_service.db import calendar
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import events
from ipulse_service.jobs.job import JobRow

CurveScope = Literal["epoch", "step"]
Axis = Literal["epoch", "step", "samples", "training_time", "wall_time"]

_EVENTS = (
    select(events.c.time, events.c.attempt, events.c.kind, events.c.body)
    .where(
        events.c.job_pk == bindparam("of_job"),
        events.c.kind.in_(("metric", "phase")),
    )
    .order_by(events.c.seq)
)
# Most events describe steps: the database leaves them out for curves of epochs.
_EVENTS_OF_EPOCHS = _EVENTS.where(
    events.c.body.contains('"scope":"epoch"')
    | events.c.body.contains('"test_loss"')
    | (events.c.kind == "phase")
)


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


class _Points:
    """The metric events of one scope of a job in order, as columns."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.trained: list[float] = []  # seconds of training
        self.times: list[int] = []  # milliseconds
        self.events: list[dict[str, Any]] = []
        self.starts: list[int] = []  # index of the first point of each attempt

    def rewind(self, step: int) -> None:
        """Forgets the points from a step on, which a resumed attempt repeats."""
        length = bisect_left(self.steps, step)
        for column in (self.steps, self.trained, self.times, self.events):
            del column[length:]
        self.starts = [start for start in self.starts if start < length]


def curves(transaction: Transaction, job: JobRow, wanted: CurveRequest) -> JobCurves:
    """Returns the curves of a job. A resumed attempt replaces the points that it repeats."""
    points = _points(transaction, job, wanted.scope)
    xs = _xs(job, points, wanted)
    names = wanted.names or {name for event in points.events for name in event["values"]}
    series = []
    for name in sorted(names):
        values = [event["values"].get(name) for event in points.events]
        if None in values:
            pairs = [(x, y) for x, y in zip(xs, values, strict=True) if y is not None]
            if pairs:
                series.append(_curve(name, [x for x, _ in pairs], [y for _, y in pairs], wanted))
        elif values:
            series.append(_curve(name, xs, values, wanted))
    x_range = (xs[0], xs[-1]) if xs else None
    return JobCurves(job, x_range, [xs[start] for start in points.starts], series)


def _points(transaction: Transaction, job: JobRow, wanted: CurveScope) -> _Points:
    query = _EVENTS_OF_EPOCHS if wanted == "epoch" else _EVENTS
    rows = transaction.connection.execute(query, {"of_job": job.pk}).all()
    # One document is parsed faster than thousands.
    document = ",".join([row[3] for row in rows])
    points = _Points()
    ran: dict[int | None, int] = {}  # when the training of each attempt began
    attempt, began, before = -1, 0, 0.0  # the present one, and seconds of training in earlier ones
    steps, last = points.steps, -1
    for (time, number, kind, _), body in zip(rows, from_json(f"[{document}]"), strict=True):
        if kind == "phase":
            if body["phase"] == "run":
                ran.setdefault(number, time)
            continue
        # Version 0.1 stored no scope; only epochs had test metrics.
        scope = body.get("scope") or ("epoch" if "test_loss" in body["values"] else "step")
        if scope != wanted:
            continue
        step = body["step"]
        if step <= last:
            points.rewind(step)
        if number != attempt:
            attempt, began = number, ran.get(number, time)
            before = points.trained[-1] if steps else 0.0
            points.starts.append(len(steps))
        last = step
        steps.append(step)
        points.trained.append(before + (time - began) / 1000)
        points.times.append(time)
        points.events.append(body)
    return points


def _xs(job: JobRow, points: _Points, wanted: CurveRequest) -> list[float]:
    match wanted.axis:
        case "epoch" if wanted.scope == "epoch":
            return [event["epoch"] for event in points.events]
        case "epoch":
            return [event["step"] * event["epochs"] / event["steps"] for event in points.events]
        case "step":
            return [*points.steps]
        case "samples":
            batch_size = json.loads(job.spec)["training"]["batch_size"]
            return [step * batch_size for step in points.steps]
        case "training_time":
            return points.trained
        case "wall_time":
            return [calendar.shown(time) / 1000 for time in points.times]


def _curve(name: str, xs: list[float], values: list[float], wanted: CurveRequest) -> Curve:
    first = 0 if wanted.begin is None else bisect_left(xs, wanted.begin)
    end = len(xs) if wanted.end is None else bisect_right(xs, wanted.end)
    xs, values = xs[first:end], values[first:end]
    if len(xs) <= wanted.points:
        return Curve(name, len(xs), xs, values, values, values, [1] * len(xs))
    curve = Curve(name, len(xs))
    for begin, stop in _buckets(xs, wanted.points):
        part = values[begin:stop]
        curve.x.append(xs[stop - 1])
        curve.last.append(part[-1])
        curve.min.append(min(part))
        curve.max.append(max(part))
        curve.n.append(stop - begin)
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
