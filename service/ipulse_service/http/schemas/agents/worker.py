"""Responses to agents."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ipulse_service.http.schemas.base import (
    ARTIFACT_ID,
    ATTEMPT_ID,
    JOB_ID,
    SHA256,
    SPEC,
    Digest,
    example,
)
from ipulse_service.jobs.start.start_file import FileMode


class CheckpointInfo(BaseModel):
    """The checkpoint that an attempt resumes from."""

    artifact_id: str
    sha256: Digest
    size: int = Field(description="Bytes.")
    name: str


class StartFileInfo(BaseModel):
    """A file of another job that an attempt without a checkpoint starts from."""

    mode: FileMode
    sha256: Digest
    size: int = Field(description="Bytes.")
    name: str


class OpFileInfo(BaseModel):
    """The source package of a custom op that a job uses."""

    name: str
    sha256: Digest
    size: int = Field(description="Bytes.")


class ClaimedAttempt(BaseModel):
    """An attempt that the agent now holds."""

    model_config = example(
        job_id=JOB_ID,
        attempt_id=ATTEMPT_ID,
        attempt=2,
        fence="only-the-agent-that-holds-the-attempt-knows-it",
        lease_seconds=30.0,
        heartbeat_seconds=5.0,
        spec=SPEC,
        checkpoint={
            "artifact_id": ARTIFACT_ID,
            "sha256": SHA256,
            "size": 275_968,
            "name": "checkpoint-3.npz",
        },
        start_from=None,
        ops=[],
    )

    job_id: str
    attempt_id: str
    attempt: int = Field(description="Number of the attempt, from 1.")
    fence: str = Field(
        description="Fencing token; send it as IPUlse-Fence in every request about the attempt."
    )
    lease_seconds: float = Field(description="The lease expires this long after a heartbeat.")
    heartbeat_seconds: float = Field(description="Time between two heartbeats.")
    spec: dict[str, Any] = Field(
        description="With all defaults filled in, in the newest version that the agent runs."
    )
    checkpoint: CheckpointInfo | None
    start_from: StartFileInfo | None = Field(
        description="Download it from `/v1/worker/attempts/{attempt_id}/start-file`."
    )
    ops: list[OpFileInfo] = Field(
        description="Download each from `/v1/worker/attempts/{attempt_id}/ops/{sha256}`."
    )


class RenewedLease(BaseModel):
    """The lease after a heartbeat."""

    model_config = example(cancel=False, finish=False, must_return=False, lease_seconds=30.0)

    cancel: bool = Field(description="True if the agent must stop the job.")
    finish: bool = Field(description="True if the training must end now, with all its results.")
    must_return: bool = Field(
        description="True if the agent must return the job to the queue, from a checkpoint: it "
        "drains, or another job comes first."
    )
    lease_seconds: float = Field(description="The lease expires after this time.")


class AttemptOrders(BaseModel):
    """Orders of the service for the agent that holds an attempt."""

    model_config = example(cancel=True, finish=False)

    cancel: bool = Field(description="True if the agent must stop the job.")
    finish: bool = Field(description="True if the training must end now, with all its results.")


class NextEvent(BaseModel):
    """Confirms that events are stored."""

    model_config = example(next=10)

    next: int = Field(description="The attempt-local number of the event that is expected next.")
