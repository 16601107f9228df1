"""Metrics of a job as columns: one list of numbers per metric, by epoch or step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ipulse.client import JobEvent
from ipulse_core.errors import InvalidInput, NotFound, Problem

Scope = Literal["epoch", "step"]
Axis = Literal["epoch", "step", "wall_time"]
Columns = dict[str, list[Any]]
AXES: tuple[Axis, ...] = ("epoch", "step", "wall_time")
_SMALLER_IS_BETTER = ("loss", "error", "seconds", "dropped", "overflow", "penalty")


@dataclass(frozen=True)
class BestEpoch:
    """The epoch in which a metric was best."""

    metric: str
    epoch: int
    value: float


def columns_of(
    events: Iterable[JobEvent], names: Sequence[str], scope: Scope, x: Axis | None
) -> Columns:
    """Return the x axis and the metrics with these names, or all, of a job's metric events.

    An attempt that was resumed replaces the points that it repeats. A metric without a value at a
    point is None there. Raises InvalidInput for an unknown scope or axis, and NotFound for a name
    that no point has.
    """
    _choice("scope", scope, ("epoch", "step"))
    axis = _choice("x", x or scope, AXES)
    points: dict[int, Mapping[str, Any]] = {}
    for event in events:
        fields = event.fields
        if fields.get("scope", _former_scope(fields)) == scope:
            key = int(fields[scope])
            points.pop(key, None)
            points[key] = {**fields, "wall_time": event.time.timestamp()}
    rows = [points[key] for key in sorted(points)]
    known = list(dict.fromkeys(name for row in rows for name in row["values"]))
    for name in names:
        if name not in known:
            listed = ", ".join(known) or "none yet"
            raise NotFound(f"the job has no metric {name[:100]!r}; its metrics: {listed}")
    columns: Columns = {axis: [row[axis] for row in rows]}
    for name in names or known:
        columns[name] = [row["values"].get(name) for row in rows]
    return columns


def best_epoch(columns: Columns, metric: str) -> BestEpoch:
    """Return the epoch with the smallest loss, or the largest value of another metric.

    Of equal ones the first is returned. Raises NotFound if there is none yet.
    """
    found = [
        BestEpoch(metric, epoch, value)
        for epoch, value in zip(columns["epoch"], columns[metric], strict=True)
        if value is not None
    ]
    if not found:
        raise NotFound(f"no epoch with {metric} has ended yet")
    choose = min if smaller_is_better(metric) else max
    return choose(found, key=lambda best: best.value)


def smaller_is_better(metric: str) -> bool:
    """Return whether a metric should fall, as losses and durations should."""
    return any(word in metric for word in _SMALLER_IS_BETTER)


def _former_scope(fields: Mapping[str, Any]) -> str:
    """Return the scope of an event of version 0.1, which has none."""
    return "epoch" if "test_loss" in fields["values"] else "step"


def _choice(name: str, value: str, choices: Sequence[str]) -> str:
    if value in choices:
        return value
    detail = f"must be one of {', '.join(choices)}; got {str(value)[:60]!r}"
    raise InvalidInput([Problem(f"/{name}", "not_a_choice", detail)], f"there is no such {name}")
