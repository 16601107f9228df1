"""The shapes of answers that are written without a model, for the OpenAPI document alone: making
these classes takes time, which no start has to spend."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from ipulse_service.http.job_responses import Time
from ipulse_service.jobs.waiting import Why


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
    state: str = Field(description="A value of ipulse_core.states.JobState.")
    reason: str | None = Field(description="A value of ipulse_core.states.Reason.")
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
    waiting_on: WaitingBody | None


class JobPageBody(BaseModel):
    """Some jobs, newest first."""

    jobs: list[JobSummaryBody]
    next_page_token: str = Field(description="Empty on the last page.")


class EventPageBody(BaseModel):
    """Some events of a job in order."""

    events: list[dict[str, Any]]
    next_after: int = Field(description="What to pass as `after` for the next page.")
    end: bool = Field(description="No more events will ever come after this page.")


class ProblemBody(BaseModel):
    """One thing wrong with a request, and where."""

    pointer: str = Field(description="RFC 6901 pointer into the body, or e.g. /query/page_size.")
    code: str
    detail: str


class ProblemDocument(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str = Field(description="Stable; what a program may rely on.")
    request_id: str
    errors: list[ProblemBody]
