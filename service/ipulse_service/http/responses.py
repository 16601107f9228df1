"""Headers of responses that describe a job."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Response

from ipulse_core.states import IDLE
from ipulse_service.http import etags
from ipulse_service.http.schemas.jobs.jobs import JobDetail
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue.waiting import Waiting

# Retry-After: of a job that waits, and of one that runs.
IDLE_RETRY_SECONDS, RETRY_SECONDS = 5, 2


def job_detail(
    response: Response, job: JobRow, attempts: Sequence[AttemptRow], waiting: Waiting | None = None
) -> JobDetail:
    """Returns a job's model, and sets its ETag and when to ask again."""
    response.headers["etag"] = etags.quoted(job.tag)
    if not job.state.is_terminal:
        seconds = IDLE_RETRY_SECONDS if job.state in IDLE else RETRY_SECONDS
        response.headers["retry-after"] = str(seconds)
    return JobDetail.from_row(job, attempts, waiting)
