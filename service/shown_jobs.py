"""What the API says of a job: its JSON, and the schemas of that in the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from .database import rfc3339
from .job import Job
from .leases import Attempt
from .waiting import Waiting, Why

_DECODER = json.JSONDecoder()

Time = str  # RFC 3339 in UTC, to the millisecond


class AttemptBody(BaseModel):
    """One try at a job."""

    number: int
    agent: str
    reason: str | None
    message: str
    started_at: Time | None
    finished_at: Time | None


class JobSummaryBody(BaseModel):
    """A job as a list shows it."""

    object: Literal["job"] = "job"
    id: str
    name: str
    state: str = Field(description="A value of ipulse.states.JobState.")
    reason: str | None = Field(description="A value of ipulse.states.Reason.")
    message: str
    device: str
    priority: int = Field(description="The greater goes first.")
    deadline_at: Time | None = Field(description="When it is late in its present state.")
    attempt: int = Field(description="Number of the latest attempt; 0 before the first.")
    progress: dict[str, Any] | None = Field(description="The fields of the last metric event.")
    summary: dict[str, float] | None = Field(description="Final figures.")
    spec_sha256: str
    created_at: Time | None
    started_at: Time | None
    finished_at: Time | None
    updated_at: Time | None
    phase_seconds: dict[str, float] = Field(description="Seconds in each phase that was left.")
    attempts: list[AttemptBody]
    last_seq: int = Field(description="Sequence number of the job's last event.")
    metadata: dict[str, str]
    version: int = Field(description="Counts changes.")


class WaitingBody(BaseModel):
    """What a job waits for, at the moment of the answer; the ETag does not cover it."""

    reason: Why
    position: int | None = Field(description="In the queue of its kind of device, from 1.")
    holder: str | None = Field(description="The job that has had such a device longest.")
    estimated_start: Time | None = Field(description="From how long the latest jobs took.")


class JobBody(JobSummaryBody):
    """A job with its spec, and while it waits, what for."""

    spec: dict[str, Any]
    waiting_on: WaitingBody | None = None


class JobPageBody(BaseModel):
    """Some jobs, newest first."""

    jobs: list[JobSummaryBody]
    next_page_token: str = Field(description="Empty on the last page.")


# Rows become plain dictionaries: for a page of a list, making each of them a model of the
# classes above first took longer than all the rest.


def summary_of(job: Job, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """The JSON of a JobSummaryBody."""
    return {
        "object": "job",
        "id": job.id,
        "name": job.name,
        "state": job.state.value,
        "reason": None if job.reason is None else job.reason.value,
        "message": job.message,
        "device": job.device,
        "priority": job.priority,
        "deadline_at": rfc3339(job.deadline_at),
        "attempt": job.attempt,
        "progress": None if job.progress is None else _parsed(job.progress),
        "summary": None if job.summary is None else _parsed(job.summary),
        "spec_sha256": job.spec_sha256,
        "created_at": rfc3339(job.created_at),
        "started_at": rfc3339(job.started_at),
        "finished_at": rfc3339(job.finished_at),
        "updated_at": rfc3339(job.updated_at),
        "phase_seconds": {phase: ms / 1000 for phase, ms in _parsed(job.phase_ms).items()},
        "attempts": [_attempt(attempt) for attempt in attempts],
        "last_seq": job.last_seq,
        "metadata": _parsed(job.metadata),
        "version": job.version,
    }


def whole(
    job: Job, attempts: Sequence[Attempt], waits_for: Waiting | None = None
) -> dict[str, Any]:
    """The JSON of a JobBody."""
    return {
        **summary_of(job, attempts),
        "spec": _parsed(job.spec),
        "waiting_on": None if waits_for is None else _waiting(waits_for),
    }


def _parsed(text: str) -> Any:
    # The texts of our own columns need none of the care that `loads` takes.
    return _DECODER.raw_decode(text)[0]


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "agent": attempt.agent,
        "reason": attempt.reason,
        "message": attempt.message,
        "started_at": rfc3339(attempt.started_at),
        "finished_at": rfc3339(attempt.finished_at),
    }


def _waiting(waiting: Waiting) -> dict[str, Any]:
    return {
        "reason": waiting.reason,
        "position": waiting.position,
        "holder": waiting.holder,
        "estimated_start": rfc3339(waiting.estimated_start),
    }
