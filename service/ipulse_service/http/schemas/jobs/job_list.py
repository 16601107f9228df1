"""The list of jobs, as the API returns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, Field

from ipulse_core.states import JobState
from ipulse_service.db.access import Access
from ipulse_service.http.schemas.base import Timestamp, example
from ipulse_service.http.schemas.jobs.job_parts import WaitingInfo
from ipulse_service.http.schemas.jobs.jobs import SUMMARY, JobSummary, summary_fields
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue.waiting import Waiting
from ipulse_service.jobs.search.columns import ColumnKind, Scalar


class ListColumn(BaseModel):
    """A column of a list that was asked for."""

    key: str = Field(description="As it was asked for; the key in `values` of each job.")
    name: str = Field(description="The full name.")
    kind: ColumnKind = Field(description="unknown: no job has it.")


class ListedJob(JobSummary):
    """A job in a list, with the columns that were asked for."""

    model_config = example(**SUMMARY, values={"learning_rate": 0.01, "test_accuracy": None})

    values: dict[str, Scalar] | None = Field(
        default=None, description="Values by column; null: no columns were asked for."
    )
    waiting_on: WaitingInfo | None = Field(
        default=None,
        description="What it waits for; null: it does not wait, or that was not asked for.",
    )

    @classmethod
    def of(
        cls,
        job: JobRow,
        attempts: Sequence[AttemptRow],
        access: Access,
        values: dict[str, Scalar] | None,
        waiting: Waiting | None,
    ) -> Self:
        """Returns the model of a stored job for a caller, its attempts, columns and wait."""
        return cls(
            **summary_fields(job, attempts, access),
            values=values,
            waiting_on=None if waiting is None else WaitingInfo.from_waiting(waiting),
        )


class JobList(BaseModel):
    """One page of a list of jobs."""

    model_config = example(
        jobs=[{**SUMMARY, "values": {"learning_rate": 0.01}}],
        next_page_token="",
        total=1,
        columns=[
            {
                "key": "learning_rate",
                "name": "training.optimizer.learning_rate",
                "kind": "setting",
            }
        ],
    )

    jobs: list[ListedJob]
    next_page_token: str = Field(description="Empty on the last page.")
    total: int | None = Field(
        default=None, description="Number of jobs on all pages; null unless `count` was asked for."
    )
    columns: list[ListColumn] | None = Field(
        default=None, description="The columns that were asked for."
    )


class BatchSummary(BaseModel):
    """The result of a request that changes many jobs."""

    model_config = example(
        dry_run=False,
        matched=3,
        by_state={"queued": 2, "succeeded": 1},
        changeable=2,
        changed=2,
        unchanged=1,
        remaining=0,
        as_of="2026-01-31T12:00:00.000Z",
    )

    dry_run: bool = Field(description="True if nothing was changed.")
    matched: int = Field(description="Jobs that passed the filters before the change.")
    by_state: dict[JobState, int] = Field(description="These jobs by their state.")
    changeable: int = Field(
        description="Of these, the jobs that the change was possible for; none of the others "
        "changes. Rights, agents and equal values are not looked at."
    )
    changed: int = Field(description="0 in a dry run.")
    unchanged: int = Field(description="Their state does not allow the change, or they need none.")
    remaining: int = Field(description="Jobs that were not reached; repeat the request for them.")
    as_of: Timestamp | None = Field(description="All of these jobs were created before.")
