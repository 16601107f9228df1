"""Headers of responses that describe a job, or repeat a request."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from ipulse_core.states import IDLE
from ipulse_service.db.access import Access
from ipulse_service.http import etags
from ipulse_service.http.schemas.jobs.jobs import JobDetail
from ipulse_service.jobs import permissions
from ipulse_service.jobs.idempotency import Replay
from ipulse_service.jobs.job_view import JobView

# Retry-After: of a job that waits, and of one that runs.
IDLE_RETRY_SECONDS, RETRY_SECONDS = 5, 2

# Headers of a route that takes an Idempotency-Key, for the OpenAPI document.
REPLAY_HEADERS: dict[str, Any] = {
    "Idempotency-Replayed": {
        "description": "`true` if an earlier request with this Idempotency-Key was answered.",
        "schema": {"type": "string"},
    },
    "Idempotency-Compared": {
        "description": "`false` if another version of the service stored the key, so that it is "
        "not known whether that request was the same as this one.",
        "schema": {"type": "string"},
    },
}


def mark_replay(response: Response, replay: Replay) -> bool:
    """Sets the headers of a repeated request; returns whether it is one."""
    if replay is Replay.FIRST:
        return False
    response.headers["idempotency-replayed"] = "true"
    if replay is Replay.NOT_COMPARED:
        response.headers["idempotency-compared"] = "false"
    return True


def job_detail(
    response: Response,
    access: Access,
    view: JobView,
) -> JobDetail:
    """Returns a job's model for a caller, and sets its ETag and when to ask again."""
    job = view.job
    response.headers["etag"] = etags.quoted(permissions.entity_tag(access, job))
    if not job.state.is_terminal:
        seconds = IDLE_RETRY_SECONDS if job.state in IDLE else RETRY_SECONDS
        response.headers["retry-after"] = str(seconds)
    return JobDetail.from_view(view, access)
