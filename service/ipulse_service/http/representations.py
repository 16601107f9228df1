"""Answers that are checked as they are written, each with its schema in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from ipulse_service.db.engine import rfc3339
from ipulse_service.files.artifacts import Artifact
from ipulse_service.http.job_responses import Time


class ValidationBody(BaseModel):
    """A spec that would be accepted, with every default written out."""

    valid: Literal[True] = True
    spec: dict[str, Any]
    spec_sha256: str


class ArtifactBody(BaseModel):
    """A stored file."""

    id: str
    name: str
    role: str = Field(description="A value of ipulse_core.events.Role.")
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
    sha256: str = Field(description="Of what arrived.")
