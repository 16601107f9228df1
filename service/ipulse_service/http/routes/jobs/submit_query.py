"""The options of a submission in its query."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ipulse_core.ids import JOB_ID
from ipulse_core.limits import GROUP, HIGHEST_PRIORITY, LOWEST_PRIORITY, MAX_NOTES, MAX_TAGS
from ipulse_service.http.dependencies import DIGITS
from ipulse_service.http.schemas.jobs.job_requests import (
    AFTER,
    AS_GROUP,
    MAX_SECONDS,
    NOTES,
    Tag,
    dependencies_of,
)
from ipulse_service.jobs.dependencies import MAX_DEPENDENCIES, Dependency
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.jobs.start.start_file import StartMode
from ipulse_service.jobs.start.starting import StartRequest

_Seconds = Annotated[int, Field(ge=1, le=MAX_SECONDS), DIGITS]


class SubmitQuery(BaseModel):
    """Priority, time limits in seconds on the service's clock, tags, group and notes of a job."""

    model_config = ConfigDict(extra="forbid")

    priority: Annotated[int, Field(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY), DIGITS] = Field(
        default=0, description="Jobs with a greater priority start first."
    )
    queue_seconds: _Seconds | None = Field(
        default=None, description="Limit of the time until an agent starts."
    )
    run_seconds: _Seconds | None = Field(
        default=None, description="Limit of the run time of all attempts."
    )
    total_seconds: _Seconds | None = Field(
        default=None, description="Limit from submission to end."
    )
    tag: list[Tag] = Field(
        default=[], max_length=MAX_TAGS, description="Tags of the job.", examples=[["baseline"]]
    )
    group: Annotated[str, Field(pattern=GROUP), AS_GROUP] | None = Field(
        default=None, description="The group of jobs that it belongs to.", examples=["wide"]
    )
    notes: str = Field(
        default="",
        max_length=MAX_NOTES,
        pattern=NOTES,
        description="Notes for people, in Markdown. Long ones are better sent by PATCH.",
    )

    after: list[Annotated[str, Field(pattern=AFTER, max_length=80)]] = Field(
        default=[],
        max_length=MAX_DEPENDENCIES,
        description="`JOB` or `JOB:success`, `JOB:end`, `JOB:failure`: it is queued when these "
        "jobs have ended so, and cancelled (dependency_failed) if one of them has not.",
        examples=[["job_0b5c2e6f7a8d9c1e2f3a4b5c:success"]],
    )
    start_from: Annotated[str, Field(pattern=JOB_ID, max_length=64)] | None = Field(
        default=None, description="Id of a job that has ended or is paused, to start from."
    )
    start_mode: StartMode = Field(
        default="continue",
        description="continue: train on from its last checkpoint, with the same spec but more "
        "epochs; weights: begin another training with its final weights, by the names of layers.",
    )

    def dependencies(self) -> tuple[Dependency, ...]:
        """Returns the jobs to wait for."""
        return dependencies_of(self.after)

    def start(self) -> StartRequest | None:
        """Returns the job to start from."""
        return None if self.start_from is None else StartRequest(self.start_from, self.start_mode)

    def options(self) -> SchedulingOptions:
        """Returns the priority and the limits."""
        return SchedulingOptions(
            self.priority, self.queue_seconds, self.run_seconds, self.total_seconds
        )

    def attributes(self) -> JobAttributes:
        """Returns the tags in order, the group and the notes."""
        return JobAttributes(tuple(sorted(set(self.tag))), self.group, self.notes)
