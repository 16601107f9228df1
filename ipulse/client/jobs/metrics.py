"""Metrics of a job as columns: one list of numbers per metric, by epoch or step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ipulse.client.jobs.curves import MetricCurve
from ipulse_core.errors import NotFound
from ipulse_core.metric_names import smaller_is_better

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class BestEpoch:
    """The epoch in which a metric was best."""

    metric: str
    epoch: int
    value: float


def aligned(axis: str, curves: Mapping[str, MetricCurve]) -> Columns:
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
