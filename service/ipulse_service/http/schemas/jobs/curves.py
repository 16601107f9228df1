"""Curves of metrics as the API returns them."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ipulse.curve_choices import Axis
from ipulse_core.states import JobState
from ipulse_service.http.schemas.base import JOB_ID, example
from ipulse_service.jobs.curves.points import CurveScope

_SERIES = {
    "name": "test_accuracy",
    "total": 4,
    "x": [2, 4],
    "last": [0.9, 0.95],
    "min": [0.8, 0.94],
    "max": [0.9, 0.95],
    "n": [2, 2],
}
_JOB = {
    "job": JOB_ID,
    "name": "digits",
    "state": "running",
    "x_range": [1, 4],
    "attempt_starts": [1],
    "series": [_SERIES],
}


class MetricSeries(BaseModel):
    """A metric by x. Item i of each list is about bucket i; a bucket of one point is that point."""

    model_config = example(**_SERIES)

    name: str
    total: int = Field(description="Points between `from` and `to`.")
    x: list[float] = Field(description="The x of the last point of each bucket.")
    last: list[float] = Field(description="The value of the last point.")
    min: list[float] | None
    max: list[float] | None
    n: list[int] | None = Field(
        description="The number of points. With `compact`, min, max and n are null if each bucket "
        "has one point."
    )


class JobSeries(BaseModel):
    """The curves of one job."""

    model_config = example(**_JOB)

    job: str
    name: str
    state: JobState
    x_range: list[float] | None = Field(
        description="The x of the first and the last of all points; null without points."
    )
    attempt_starts: list[float] = Field(description="The x of the first point of each attempt.")
    series: list[MetricSeries]


class MetricCurves(BaseModel):
    """Curves of metrics of some jobs."""

    model_config = example(scope="epoch", x="epoch", jobs=[_JOB])

    scope: CurveScope
    x: Axis
    jobs: list[JobSeries] = Field(description="In the order of the request.")
