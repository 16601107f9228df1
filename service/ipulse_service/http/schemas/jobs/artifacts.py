"""Stored files as the API returns them."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from ipulse_core.events import Role
from ipulse_service.db.engine import rfc3339
from ipulse_service.files.stored import ArtifactRow
from ipulse_service.http.schemas.base import ARTIFACT_ID, SHA256, Digest, Timestamp, example


class ArtifactInfo(BaseModel):
    """A stored file."""

    id: str
    name: str
    role: Role = Field(description="What the file is for.")
    media_type: str
    size: int = Field(description="Bytes.")
    sha256: Digest
    attempt: int = Field(description="Number of the attempt that wrote it.")
    created_at: Timestamp | None

    @classmethod
    def from_row(cls, artifact: ArtifactRow) -> Self:
        """Returns the model of a stored file."""
        return cls.model_validate(
            {
                "id": artifact.id,
                "name": artifact.name,
                "role": artifact.role,
                "media_type": artifact.media_type,
                "size": artifact.size,
                "sha256": artifact.sha256,
                "attempt": artifact.attempt,
                "created_at": rfc3339(artifact.created_at),
            }
        )


class ArtifactList(BaseModel):
    """The files of a job's latest attempt."""

    model_config = example(
        artifacts=[
            {
                "id": ARTIFACT_ID,
                "name": "weights.npz",
                "role": "weights",
                "media_type": "application/zip",
                "size": 137_216,
                "sha256": SHA256,
                "attempt": 1,
                "created_at": "2026-01-31T12:01:00.000Z",
            }
        ],
        complete=False,
    )

    artifacts: list[ArtifactInfo]
    complete: bool = Field(description="True if the manifest is stored: no file will be added.")


class StoredFile(BaseModel):
    """Confirms that a file is stored."""

    model_config = example(artifact_id=ARTIFACT_ID, sha256=SHA256)

    artifact_id: str
    sha256: str = Field(description="SHA-256 of the content that arrived.")
