"""Parts of a job as the API returns them: its attempts, its start, and what it waits for."""

from __future__ import annotations

from typing import Self, cast

from pydantic import BaseModel, Field

from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.base import Timestamp
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue.waiting import Waiting, Why
from ipulse_service.jobs.start.start_file import StartFile, StartMode


class AttemptInfo(BaseModel):
    """One attempt at a job."""

    number: int = Field(description="From 1.")
    agent: str = Field(description="The agent that ran it: host and process.")
    reason: str | None = Field(description="Why it ended, as a job's reason.")
    message: str
    started_at: Timestamp | None
    finished_at: Timestamp | None

    @classmethod
    def from_row(cls, attempt: AttemptRow) -> Self:
        """Returns the model of a stored attempt."""
        return cls(
            number=attempt.number,
            agent=attempt.agent,
            reason=attempt.reason,
            message=attempt.message,
            started_at=rfc3339(attempt.started_at),
            finished_at=rfc3339(attempt.finished_at),
        )


class StartInfo(BaseModel):
    """The file of another job that a job starts from."""

    job: str = Field(description="Id of that job; it may be deleted.")
    mode: StartMode
    name: str
    sha256: str = Field(description="SHA-256 of the file, which is kept as long as this job.")
    epoch: int | None = Field(description="Whole epochs of the checkpoint; null for weights.")

    @classmethod
    def from_row(cls, job: JobRow) -> Self | None:
        """Returns the model of the start of a stored job."""
        start = StartFile.of(job)
        if start is None or not start.job:  # the spec names the digest of uploaded weights
            return None
        return cls(
            job=start.job,
            mode=cast(StartMode, start.mode),  # a package is never another job's
            name=start.name,
            sha256=start.sha256,
            epoch=start.epoch,
        )


class ImportInfo(BaseModel):
    """The import of a job that ran elsewhere. Its content is as somebody uploaded it."""

    at: Timestamp | None
    archive_sha256: str = Field(description="SHA-256 of the archive.")

    @classmethod
    def from_row(cls, job: JobRow) -> Self | None:
        """Returns the model of the import of a stored job."""
        if job.imported_sha256 is None:
            return None
        return cls(at=rfc3339(job.imported_at), archive_sha256=job.imported_sha256)


class WaitingInfo(BaseModel):
    """Why a job waits, at the moment of the response; not covered by its ETag.

    While thousands of jobs wait, it may be some seconds old.
    """

    reason: Why = Field(
        description="wake_up: an agent is free and was told; device_busy: all agents that can run "
        "it are busy; behind: one is free, but other jobs come first; no_agent: none is present; "
        "no_match: those present lack something, see `detail`; quarantine: their device failed; "
        "agent_draining: they take no more jobs; dependency: other jobs must end before; compile: "
        "another trial of the sweep compiles the same executable; quota: one of the project or of "
        "the owner is used up; fair_share: jobs that were queued later come first, because their "
        "owners have used less (the details of both have the figures); pool: its project may not "
        "use its pool any more; reservation: the workers that could run it are reserved for "
        "another project; gang: too few IPUs of one machine are free at once, or they are kept "
        "for a job that comes first."
    )
    detail: str = Field(description="For people; empty where the reason says it all.")
    position: int | None = Field(
        description="Among all queued jobs that compete for the same agents, from 1."
    )
    of: int | None = Field(description="Number of these jobs.")
    holder: str | None = Field(
        description="The job that holds the agent that is waited for; with dependency and compile "
        "the first job that is waited for."
    )
    holder_name: str | None = Field(
        default=None, description="Its name with dependency and compile, else null."
    )
    holder_device: str | None = Field(description="The kind of device that the holder uses.")
    estimated_start: Timestamp | None = Field(
        description="Expected start; null without a basis, and never in the past."
    )

    @classmethod
    def from_waiting(cls, waiting: Waiting) -> Self:
        """Returns the model of what a job waits for."""
        return cls(
            reason=waiting.reason,
            detail=waiting.detail,
            position=waiting.position,
            of=waiting.of,
            holder=waiting.holder,
            holder_name=waiting.holder_name,
            holder_device=waiting.holder_device,
            estimated_start=rfc3339(waiting.estimated_start),
        )
