"""A request with several specs, and its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel

from ipulse.models import Field, Integer, StrictModel
from ipulse.models.fields import ListOf
from ipulse.spec import JobSpec
from ipulse_core.errors import Problem
from ipulse_core.ids import JOB_ID
from ipulse_core.limits import (
    GROUP,
    HIGHEST_PRIORITY,
    LOWEST_PRIORITY,
    MAX_KEPT_TEXT_BYTES,
    MAX_NOTES,
)
from ipulse_service.http.dependencies import written_as
from ipulse_service.http.schemas.base import SPEC, example
from ipulse_service.http.schemas.jobs.job_requests import (
    AFTER,
    AS_GROUP,
    MAX_SECONDS,
    NOTES,
    ON_END,
    Tags,
    dependencies_of,
)
from ipulse_service.http.schemas.jobs.jobs import DETAIL, JobDetail
from ipulse_service.jobs import submission
from ipulse_service.jobs.dependencies import MAX_DEPENDENCIES
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.jobs.start.start_file import StartMode
from ipulse_service.jobs.start.starting import StartRequest
from ipulse_service.jobs.submission import Submission
from ipulse_service.jobs.submitted_text import SubmittedText, TextForm

MAX_JOBS = 500

_Seconds = Annotated[Integer, Field(ge=1, le=MAX_SECONDS)]
_LOCAL = re.compile(rf"/jobs/([0-9]{{1,3}}){ON_END}")
_AFTER = f"{AFTER}|^{_LOCAL.pattern}$"
_AS_AFTER = written_as(
    re.compile(_AFTER),
    "wrong_form",
    "must be the id of a job or /jobs/N for an earlier job of this request, and may end with "
    ":success, :end or :failure",
)


class SubmittedSpec(StrictModel):
    """The text of a spec as its author wrote it."""

    model_config = example(form="yaml", text="version: 1  # digits\n")

    form: TextForm = Field(description="How it is written.")
    text: str = Field(
        max_length=MAX_KEPT_TEXT_BYTES,
        pattern=NOTES,
        description="Shown to people as it is; the job is that of `spec`.",
    )


class JobSubmission(StrictModel):
    """A spec with the scheduling options and attributes of its job."""

    model_config = example(spec=SPEC, tags=["baseline"], after=["/jobs/0:success"])

    spec: JobSpec
    submitted: SubmittedSpec | None = Field(
        default=None, description="The text that the spec was read from, to be stored with the job."
    )
    priority: Annotated[Integer, Field(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY)] = Field(
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
    tags: Tags = Field(default=(), description="Tags of the job.", examples=[["baseline"]])
    group: Annotated[str, Field(pattern=GROUP), AS_GROUP] | None = Field(
        default=None, description="The group of jobs that it belongs to.", examples=["wide"]
    )
    notes: Annotated[str, Field(max_length=MAX_NOTES, pattern=NOTES)] = Field(
        default="", description="Notes for people, in Markdown."
    )
    after: Annotated[
        ListOf[Annotated[str, Field(pattern=_AFTER, max_length=80), _AS_AFTER]],
        Field(max_length=MAX_DEPENDENCIES),
    ] = Field(
        default=(),
        description="Jobs to wait for, as in `POST /v1/jobs`; `/jobs/N` is job N of this request, "
        "which must be an earlier one.",
        examples=[["/jobs/0:success"]],
    )
    start_from: Annotated[str, Field(pattern=JOB_ID, max_length=64)] | None = Field(
        default=None, description="Id of a job that has ended or is paused, to start from."
    )
    start_mode: StartMode = Field(default="continue", description="As in `POST /v1/jobs`.")

    def submission(self) -> Submission:
        """Returns the job that is wanted."""
        text = self.submitted
        return Submission(
            submission.resolve(self.spec),
            SchedulingOptions(
                self.priority, self.queue_seconds, self.run_seconds, self.total_seconds
            ),
            JobAttributes(tuple(sorted(set(self.tags))), self.group, self.notes),
            None if self.start_from is None else StartRequest(self.start_from, self.start_mode),
            dependencies_of(self.after),
            None if text is None else SubmittedText(text.form, text.text),
        )


class BatchRequest(StrictModel):
    """Several jobs to submit, all or none."""

    model_config = example(jobs=[{"spec": SPEC}, {"spec": SPEC, "after": ["/jobs/0:success"]}])

    jobs: Annotated[ListOf[JobSubmission], Field(min_length=1, max_length=MAX_JOBS)] = Field(
        description="The jobs, in the order of the queue."
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem for each job that waits for itself or a later one."""
        for index, job in enumerate(self.jobs):
            for position, text in enumerate(job.after):
                local = _LOCAL.fullmatch(text)
                if local is not None and int(local.group(1)) >= index:
                    detail = "must name an earlier job of this request"
                    yield Problem(f"/jobs/{index}/after/{position}", "not_earlier", detail)


class BatchedJob(BaseModel):
    """A job of a request with several."""

    pointer: str = Field(description="Its place in the request.", examples=["/jobs/0"])
    job: JobDetail


class SubmittedBatch(BaseModel):
    """The jobs of a request, in its order."""

    model_config = example(jobs=[{"pointer": "/jobs/0", "job": DETAIL}])

    jobs: list[BatchedJob]
