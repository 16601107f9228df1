"""Curves of metrics: the call, and its response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from ipulse.client.transport.api_call import APICall, object_in


@dataclass(frozen=True)
class MetricCurve:
    """A metric of a job by x, in buckets; `last`, `min` and `max` are equal where `n` is 1."""

    job_id: str
    job_name: str
    name: str
    x: list[float] = field(hash=False)
    last: list[float] = field(hash=False)
    min: list[float] = field(hash=False)
    max: list[float] = field(hash=False)
    n: list[int] = field(hash=False)


def curves(
    job_ids: Sequence[str],
    names: Sequence[str],
    scope: str,
    x: str,
    bounds: tuple[float | None, float | None],
    points: int,
) -> APICall[list[MetricCurve]]:
    """Return the call that reads curves of metrics."""
    params: dict[str, Any] = {"jobs": ",".join(job_ids), "scope": scope, "x": x, "points": points}
    if names:
        params["names"] = ",".join(names)
    params |= {name: at for name, at in zip(("from", "to"), bounds, strict=True) if at is not None}
    return APICall("GET", "/v1/metrics", _read, params=params)


def _read(response: httpx.Response) -> list[MetricCurve]:
    return [
        MetricCurve(
            job["job"],
            job["name"],
            series["name"],
            *(series[column] for column in ("x", "last", "min", "max", "n")),
        )
        for job in object_in(response)["jobs"]
        for series in job["series"]
    ]
