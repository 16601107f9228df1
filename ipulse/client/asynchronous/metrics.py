"""Reads the metrics of a job."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ipulse.client.jobs.curves import MetricCurve
from ipulse.client.jobs.metrics import Columns, aligned
from ipulse.curve_choices import Axis, Scope
from ipulse_core.errors import NotFound

if TYPE_CHECKING:
    from .connection import AsyncConnection

MOST_POINTS = 10_000  # of one answer
_COLUMNS = ("x", "last", "min", "max", "n")


async def read_columns(
    connection: AsyncConnection, job_id: str, names: Sequence[str], scope: Scope, x: Axis | None
) -> Columns:
    """Return the x axis and the metrics with these names, or all of the scope.

    A metric without a value at a point is None there. Raises InvalidInput for an unknown scope or
    axis, and NotFound for a name that no point has.
    """
    axis = x or scope
    read = partial(connection.curves, [job_id], scope=scope, x=axis, points=MOST_POINTS)
    found = [curve for curve in await read(names) if curve.x]
    missing = [name for name in names if name not in {curve.name for curve in found}]
    if missing:
        listed = ", ".join(curve.name for curve in await read([]) if curve.x) or "none yet"
        raise NotFound(f"the job has no metric {missing[0][:100]!r}; its metrics: {listed}")
    curves = {curve.name: await _whole(read, curve) for curve in found}
    return aligned(axis, {name: curves[name] for name in names or curves})


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
