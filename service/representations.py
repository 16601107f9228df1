"""What the API says: the JSON of every answer, and the schemas of them in the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from .artifacts import Artifact
from .database import rfc3339
from .leases import Attempt
from .store import Job
from .waiting import Waiting, Why

Time = str  # RFC 3339 in UTC, to the millisecond


class AttemptBody(BaseModel):
    """One try at a job."""

    number: int
    agent: str
    reason: str | None
    message: str
    started_at: Time | None
    finished_at: Time | None

    @classmethod
    def of(cls, attempt: Attempt) -> AttemptBody:
        return cls(
            number=attempt.number,
            agent=attempt.agent,
            reason=attempt.reason,
            message=attempt.message,
            started_at=rfc3339(attempt.started_at),
            finished_at=rfc3339(attempt.finished_at),
        )


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
    version: int = Field(description="Counts changes; the ETag.")

    @classmethod
    def of(cls, job: Job, attempts: Sequence[Attempt]) -> Self:
        return cls(
            id=job.id,
            name=job.name,
            state=job.state.value,
            reason=None if job.reason is None else job.reason.value,
            message=job.message,
            device=job.device,
            priority=job.priority,
            deadline_at=rfc3339(job.deadline_at),
            attempt=job.attempt,
            progress=job.progress,
            summary=job.summary,
            spec_sha256=job.spec_sha256,
            created_at=rfc3339(job.created_at),
            started_at=rfc3339(job.started_at),
            finished_at=rfc3339(job.finished_at),
            updated_at=rfc3339(job.updated_at),
            phase_seconds=job.phase_seconds,
            attempts=[AttemptBody.of(attempt) for attempt in attempts],
            last_seq=job.last_seq,
            metadata=job.metadata,
            version=job.version,
            **cls._more(job),
        )

    @staticmethod
    def _more(_job: Job) -> dict[str, Any]:
        return {}


class WaitingBody(BaseModel):
    """What a job waits for, at the moment of the answer; the ETag does not cover it."""

    reason: Why
    position: int | None = Field(description="In the queue of its kind of device, from 1.")
    holder: str | None = Field(description="The job that has had such a device longest.")
    estimated_start: Time | None = Field(description="From how long the latest jobs took.")

    @classmethod
    def of(cls, waiting: Waiting) -> WaitingBody:
        return cls(
            reason=waiting.reason,
            position=waiting.position,
            holder=waiting.holder,
            estimated_start=rfc3339(waiting.estimated_start),
        )


class JobBody(JobSummaryBody):
    """A job with its spec, and while it waits, what for."""

    spec: dict[str, Any]
    waiting_on: WaitingBody | None = None

    @staticmethod
    def _more(job: Job) -> dict[str, Any]:
        return {"spec": json.loads(job.spec)}


class JobPageBody(BaseModel):
    """Some jobs, newest first."""

    jobs: list[JobSummaryBody]
    next_page_token: str = Field(description="Empty on the last page.")


class ValidationBody(BaseModel):
    """A spec that would be accepted, with every default written out."""

    valid: Literal[True] = True
    spec: dict[str, Any]
    spec_sha256: str


class EventPageBody(BaseModel):
    """Some events of a job in order."""

    events: list[dict[str, Any]]
    next_after: int = Field(description="What to pass as `after` for the next page.")
    end: bool = Field(description="No more events will ever come after this page.")


class ArtifactBody(BaseModel):
    """A stored file."""

    id: str
    name: str
    role: str = Field(description="A value of ipulse.events.Role.")
    media_type: str
    size: int = Field(description="Bytes.")
    sha256: str
    attempt: int
    created_at: Time | None

    @classmethod
    def of(cls, artifact: Artifact) -> ArtifactBody:
        return cls(
            id=artifact.id,
            name=artifact.name,
            role=artifact.role,
            media_type=artifact.media_type,
            size=artifact.size,
            sha256=artifact.sha256,
            attempt=artifact.attempt,
            created_at=rfc3339(artifact.created_at),
        )


class ArtifactListBody(BaseModel):
    """The files of a job's latest attempt."""

    artifacts: list[ArtifactBody]
    complete: bool = Field(description="The manifest is there, so nothing will be added.")


class CheckpointBody(BaseModel):
    """A checkpoint to resume from."""

    artifact_id: str
    sha256: str
    size: int = Field(description="Bytes.")
    name: str


class ClaimBody(BaseModel):
    """An attempt that an agent now holds."""

    job_id: str
    attempt_id: str
    attempt: int
    fence: str = Field(description="To be sent as IPUlse-Fence with every word of the attempt.")
    lease_seconds: float
    heartbeat_seconds: float
    spec: dict[str, Any]
    checkpoint: CheckpointBody | None


class HeartbeatBody(BaseModel):
    """The lease was renewed."""

    cancel: bool = Field(description="The job is to stop.")
    lease_seconds: float


class OrdersBody(BaseModel):
    """What the holder of an attempt is to do."""

    cancel: bool = Field(description="The job is to stop.")


class NextEventBody(BaseModel):
    """The events are stored."""

    next: int = Field(description="The attempt-local number of the event expected next.")


class StoredBody(BaseModel):
    """The file is stored."""

    artifact_id: str


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

    @classmethod
    def inline_schema(cls) -> dict[str, Any]:
        """The JSON Schema without references, as every place may hold it."""
        schema = cls.model_json_schema()
        schema["properties"]["errors"]["items"] = schema.pop("$defs")[ProblemBody.__name__]
        return schema
