"""Metrics of a job as columns: one list of numbers per metric, by epoch or step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ipulse.client import MetricCurve
from ipulse.client.client_base import ClientBase
from ipulse.curve_choices import Axis, Scope
from ipulse_core.errors import NotFound
from ipulse_core.metric_names import smaller_is_better

Columns = dict[str, list[Any]]
MOST_POINTS = 10_000  # of one answer
_COLUMNS = ("x", "last", "min", "max", "n")


@dataclass(frozen=True)
class BestEpoch:
    """The epoch in which a metric was best."""

    metric: str
    epoch: int
    value: float


async def read_columns(
    calls: ClientBase, job_id: str, names: Sequence[str], scope: Scope, x: Axis | None
) -> Columns:
    """Return the x axis and the metrics with these names, or all of the scope.

    A metric without a value at a point is None there. Raises InvalidInput for an unknown scope or
    axis, and NotFound for a name that no point has.
    """
    axis = x or scope
    read = partial(calls.curves, [job_id], scope=scope, x=axis, points=MOST_POINTS)
    found = [curve for curve in await read(names) if curve.x]
    missing = [name for name in names if name not in {curve.name for curve in found}]
    if missing:
        listed = ", ".join(curve.name for curve in await read([]) if curve.x) or "none yet"
        raise NotFound(f"the job has no metric {missing[0][:100]!r}; its metrics: {listed}")
    curves = {curve.name: await _whole(read, curve) for curve in found}
    return _aligned(axis, {name: curves[name] for name in names or curves})


async def _whole(
    read: Callable[..., Any],
    curve: MetricCurve,
    begin: float | None = None,
    end: float | None = None,
) -> MetricCurve:
    """Return a curve without merged points: the parts of a long one are read again."""
    if max(curve.n) == 1 or len(curve.x) < 2:
        return curve
    middle = curve.x[(len(curve.x) - 1) // 2]  # the last point of a bucket
    parts = []
    for bounds in ((begin, middle), (math.nextafter(middle, math.inf), end)):
        for part in await read([curve.name], begin=bounds[0], end=bounds[1]):
            if part.x:
                parts.append(await _whole(read, part, *bounds))
    columns = [[value for part in parts for value in vars(part)[name]] for name in _COLUMNS]
    return MetricCurve(curve.job_id, curve.job_name, curve.name, *columns)


def _aligned(axis: str, curves: Mapping[str, MetricCurve]) -> Columns:
    """Return curves over one x axis."""
    axes = [curve.x for curve in curves.values()]
    if all(x == axes[0] for x in axes):
        return {axis: _numbers(axis, axes[0] if axes else []), **_values(curves)}
    whole = sorted({at for x in axes for at in x})
    columns: Columns = {axis: _numbers(axis, whole)}
    for name, curve in curves.items():
        values = dict(zip(curve.x, curve.last, strict=True))
        columns[name] = [values.get(at) for at in whole]
    return columns


def _values(curves: Mapping[str, MetricCurve]) -> Columns:
    return {name: list(curve.last) for name, curve in curves.items()}


def _numbers(axis: str, x: Sequence[float]) -> list[Any]:
    return [int(at) for at in x] if axis in ("epoch", "step", "samples") else list(x)


def chooser(columns: Columns) -> str:
    """Return the metric to choose an epoch by: of the validation samples where there are any."""
    names = ("validation_accuracy", "validation_mae", "test_mae")
    return next((name for name in names if name in columns), "test_accuracy")


def best_epoch(columns: Columns, metric: str) -> BestEpoch:
    """Return the epoch with the best value of a metric: the smallest of losses and errors.

    Of equal ones the first is returned. Raises NotFound if there is none yet.
    """
    found = [
        BestEpoch(metric, epoch, value)
        for epoch, value in zip(columns["epoch"], columns.get(metric, ()), strict=metric in columns)
        if value is not None
    ]
    if not found:
        raise NotFound(f"no epoch with {metric} has ended yet")
    choose = min if smaller_is_better(metric) else max
    return choose(found, key=lambda best: best.value)
