"""Route of the curves of metrics of one or several jobs."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from ipulse.curve_choices import Axis
from ipulse_core.errors import Problem
from ipulse_service.http import etags, problems
from ipulse_service.http.dependencies import DIGITS, NUMBER, IfNoneMatch, State
from ipulse_service.http.problems import InvalidParameter
from ipulse_service.http.schemas.jobs.curves import MetricCurves
from ipulse_service.jobs import store
from ipulse_service.jobs.curves.curves import CurveRequest, JobCurves, curves
from ipulse_service.jobs.curves.points import CurveScope

MAX_JOBS = 200
MAX_POINTS = 10_000  # of a curve
MAX_TOTAL = 200_000  # points of all jobs

_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The curves still have the ETag of If-None-Match."}
}

router = APIRouter(prefix="/v1", tags=["jobs"])


class CurveQuery(BaseModel):
    """Query parameters of curves."""

    model_config = ConfigDict(extra="forbid")

    jobs: str = Field(
        min_length=1,
        max_length=8_000,
        description=f"Ids of jobs with commas, at most {MAX_JOBS}.",
        examples=["job_0b5c2e6f7a8d9c1e2f3a4b5c"],
    )
    names: str = Field(
        default="",
        max_length=8_000,
        description="Names of metrics with commas; by default all.",
        examples=["loss,test_accuracy"],
    )
    scope: CurveScope = Field(
        default="epoch", description="Values of epochs at their end, or of training steps."
    )
    x: Axis = Field(
        default="epoch",
        description="samples: training samples, as full batches. training_time: seconds, without "
        "pauses and lost attempts. wall_time: seconds since 1970 UTC. share: of the planned "
        "epochs, from 0 to 1.",
    )
    begin: Annotated[float, NUMBER] | None = Field(
        default=None, alias="from", description="The smallest x."
    )
    end: Annotated[float, NUMBER] | None = Field(
        default=None, alias="to", description="The largest x."
    )
    points: Annotated[int, Field(ge=2, le=MAX_POINTS), DIGITS] = Field(
        default=1_000, description="Buckets of each curve, at most."
    )

    compact: bool = Field(
        default=False,
        description="Whether min, max and n of a curve without merged points are null.",
    )

    def job_ids(self) -> list[str]:
        """Returns the ids of the jobs. Raises InvalidParameter for too many."""
        ids = list(dict.fromkeys(part.strip() for part in self.jobs.split(",") if part.strip()))
        if not ids or len(ids) > MAX_JOBS:
            detail = f"must name 1 to {MAX_JOBS} jobs; got {len(ids)}"
            raise InvalidParameter([Problem("/query/jobs", "wrong_length", detail)])
        if len(ids) * self.points > MAX_TOTAL:
            detail = f"at most {MAX_TOTAL // len(ids):,} for each of {len(ids)} jobs"
            raise InvalidParameter([Problem("/query/points", "out_of_range", detail)])
        return ids

    def request(self) -> CurveRequest:
        """Returns which points are wanted. Raises InvalidParameter for bounds in wrong order."""
        if self.begin is not None and self.end is not None and self.begin > self.end:
            raise InvalidParameter([Problem("/query/to", "out_of_range", "must not be below from")])
        names = frozenset(part.strip() for part in self.names.split(",") if part.strip())
        return CurveRequest(names, self.scope, self.x, self.begin, self.end, self.points)


@router.get(
    "/metrics",
    response_model=MetricCurves,
    summary="Get curves of metrics",
    response_description="A curve for each job and metric.",
    responses={**_NOT_MODIFIED, **problems.documented(404)},
)
def get_curves(
    query: Annotated[CurveQuery, Query()], state: State, if_none_match: IfNoneMatch = None
) -> Response:
    """Returns metrics of jobs as columns.

    A curve with more than `points` points is divided into buckets of equal width, each with its
    smallest, largest and last value, so that no peak is lost; smaller bounds return finer ones. A
    job with more than 2,000,000 values has coarser curves, with all peaks.
    """
    ids, wanted = query.job_ids(), query.request()
    with state.database.read() as transaction:
        rows = [store.get_named(transaction, job_id) for job_id in ids]
        tags = [f"{row.id} {row.tag}" for row in rows]
        tag = hashlib.sha256(repr((tags, query)).encode()).hexdigest()[:32]
        headers = {"etag": etags.quoted(tag)}
        if etags.matches(if_none_match, tag):
            return Response(status_code=304, headers=headers)
        found = [curves(transaction, state.curve_cache, row, wanted) for row in rows]
    content = {
        "scope": query.scope,
        "x": query.x,
        "jobs": [_of_job(each, query.compact) for each in found],
    }
    return Response(to_json(content), headers=headers, media_type="application/json")


def _of_job(found: JobCurves, is_compact: bool) -> dict[str, Any]:
    repeated = {"min": None, "max": None, "n": None}
    return {
        "job": found.job.id,
        "name": found.job.name,
        "state": found.job.state.value,
        "x_range": found.x_range,
        "attempt_starts": found.attempt_starts,
        "series": [
            {**vars(curve), **(repeated if is_compact and curve.total == len(curve.x) else {})}
            for curve in found.series
        ],
    }
