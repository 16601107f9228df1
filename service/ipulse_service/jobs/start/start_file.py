"""The file that a job starts from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ipulse_core import strict_json
from ipulse_service.files.stored import ArtifactRow
from ipulse_service.jobs.job import JobRow

StartMode = Literal["continue", "weights"]  # of a job that a user names
FileMode = Literal["continue", "weights", "package"]


@dataclass(frozen=True)
class StartFile:
    """A file of a job that another job starts from, kept as long as that job exists."""

    job: str  # empty for an upload
    mode: FileMode
    artifact_id: str
    name: str
    role: str
    media_type: str
    sha256: str
    size: int  # bytes
    epoch: int | None  # whole epochs that its checkpoint has
    child_name: str | None = None  # of the new job; None: that of its spec

    def columns(self) -> dict[str, Any]:
        """Returns the values of the columns of a job's row."""
        file = asdict(self)
        name = file.pop("child_name")
        return {
            "start_from": strict_json.dumps(file),
            "start_job": self.job or None,
            "start_sha256": self.sha256,
            **({} if name is None else {"name": name}),
        }

    @classmethod
    def of(cls, job: JobRow) -> StartFile | None:
        """Returns the file that a job starts from."""
        return None if job.start_from is None else cls(**json.loads(job.start_from))

    @property
    def artifact(self) -> ArtifactRow:
        """The file as an artifact, also when its job was deleted."""
        return ArtifactRow(
            self.artifact_id,
            self.name,
            self.role,
            self.media_type,
            self.size,
            self.sha256,
            attempt=0,
            created_at=0,
        )
