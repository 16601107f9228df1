"""Answers in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Response
from pydantic import BaseModel

from ipulse_core.states import JobState
from ipulse_service.http import etags
from ipulse_service.http import job_responses as shown_jobs
from ipulse_service.jobs.job import Job
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.waiting import Waiting

# Between two looks at a job: one that waits, one that is under way.
IDLE_RETRY_SECONDS, RETRY_SECONDS = 5, 2


def json_content(name: str) -> dict[str, Any]:
    """How the OpenAPI document tells of JSON of this schema. By its name alone, for the classes
    are made for nothing else: see `openapi.py`."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def described(name: str) -> dict[str, Any]:
    """What the OpenAPI document says of such an answer."""
    return {"content": json_content(name)}


def json_text(value: Mapping[str, Any]) -> str:
    """JSON as answers have it, with names in the order in which they are shown."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_answer(
    body: BaseModel | Mapping[str, Any] | str,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An answer whose body is a model, or the value or the text of its JSON already."""
    if isinstance(body, BaseModel):
        text = body.model_dump_json()
    else:
        text = body if isinstance(body, str) else json_text(body)
    return Response(text, status, headers, "application/json")


def job_answer(
    job: Job,
    tried: Sequence[AttemptRow],
    waits_for: Waiting | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A whole job, with its ETag and when to look again."""
    own = {"etag": etags.quoted(job.tag)}
    if not job.state.is_terminal:
        idle = job.state in (JobState.QUEUED, JobState.RETRY_WAIT, JobState.PAUSED)
        own["retry-after"] = str(IDLE_RETRY_SECONDS if idle else RETRY_SECONDS)
    body = shown_jobs.whole(job, tried, waits_for)
    return json_answer(body, status, {**own, **(headers or {})})
