"""Jobs as the API returns them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse.spec import AnySpec, ExperimentSpec
from ipulse.spec.tile_fit import Verdict, tile_fit
from ipulse_core.states import JobState, Reason
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.base import JOB_ID, METRIC, SHA256, SPEC, Timestamp, example
from ipulse_service.http.schemas.jobs.job_parts import (
    AttemptInfo,
    ImportInfo,
    StartInfo,
    WaitingInfo,
)
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue.waiting import Waiting
from ipulse_service.jobs.search.columns import ColumnKind, Scalar

_SUMMARY: dict[str, Any] = {
    "object": "job",
    "id": JOB_ID,
    "name": "digits",
    "state": "running",
    "reason": None,
    "message": "",
    "device": "cpu",
    "priority": 0,
    "deadline_at": None,
    "finish_by": None,
    "start_from": None,
    "attempt": 1,
    "progress": {
        **METRIC,
        "evaluated": {"epoch": 2, "values": {"loss": 0.44, "accuracy": 0.87, "test_accuracy": 0.9}},
    },
    "summary": None,
    "spec_sha256": SHA256,
    "created_at": "2026-01-31T12:00:00.000Z",
    "started_at": "2026-01-31T12:00:00.041Z",
    "finished_at": None,
    "updated_at": "2026-01-31T12:00:09.310Z",
    "phase_seconds": {"queue": 0.041, "prepare": 0.2, "compile": 1.9, "acquire": 0.01},
    "attempts": [
        {
            "number": 1,
            "agent": "worker-1-4711",
            "reason": None,
            "message": "",
            "started_at": "2026-01-31T12:00:00.041Z",
            "finished_at": None,
        }
    ],
    "last_seq": 52,
    "metadata": {"team": "audio"},
    "tags": ["baseline"],
    "group": None,
    "imported": None,
    "version": 31,
}


class JobSummary(BaseModel):
    """A job as a list contains it."""

    model_config = example(**_SUMMARY)

    object: Literal["job"] = "job"
    id: str
    name: str
    state: JobState
    reason: Reason | None = Field(description="Why the job is in this state, where that is known.")
    message: str = Field(description="For people; the wording may change.")
    device: str = Field(description="The kind of device that the job needs.")
    priority: int = Field(description="Jobs with a greater priority start first.")
    deadline_at: Timestamp | None = Field(
        description="When the job's present state exceeds a time limit of the submission."
    )
    finish_by: Timestamp | None = Field(
        description="When a job that was asked to finish is cancelled instead; else null."
    )
    start_from: StartInfo | None = Field(description="The job that it starts from.")
    attempt: int = Field(description="Number of the latest attempt; 0 before the first.")
    progress: dict[str, Any] | None = Field(
        description="The fields of the last metric event, and in `evaluated` the epoch and the "
        "values of the latest epoch that has ended (null before the first)."
    )
    summary: dict[str, float] | None = Field(description="The final metrics.")
    spec_sha256: str = Field(description="SHA-256 of the spec's canonical JSON.")
    created_at: Timestamp | None
    started_at: Timestamp | None
    finished_at: Timestamp | None
    updated_at: Timestamp | None
    phase_seconds: dict[str, float] = Field(description="Seconds spent in each completed phase.")
    attempts: list[AttemptInfo]
    last_seq: int = Field(description="Sequence number of the job's last event.")
    metadata: dict[str, str] = Field(description="The metadata of the spec.")
    tags: list[str] = Field(description="In order; see PATCH.")
    group: str | None = Field(description="The group of jobs that it belongs to.")
    imported: ImportInfo | None = Field(description="Null for a job that ran here.")
    version: int = Field(description="Incremented by every change of the job.")

    @classmethod
    def from_row(cls, job: JobRow, attempts: Sequence[AttemptRow]) -> Self:
        """Returns the model of a stored job and its attempts in order."""
        return cls(**_fields(job, attempts))


DETAIL: dict[str, Any] = {**_SUMMARY, "notes": "", "spec": SPEC, "waiting_on": None}


class JobDetail(JobSummary):
    """A job with its spec, and while it waits, what for."""

    model_config = example(**DETAIL)

    notes: str = Field(description="Notes for people, in Markdown.")
    spec: dict[str, Any] = Field(description="With all defaults filled in.")
    waiting_on: WaitingInfo | None

    @classmethod
    def from_row(
        cls, job: JobRow, attempts: Sequence[AttemptRow], waiting: Waiting | None = None
    ) -> Self:
        """Returns the model of a stored job, its attempts in order, and what it waits for."""
        return cls(
            **_fields(job, attempts),
            notes=job.notes,
            spec=json.loads(job.spec),
            waiting_on=None if waiting is None else WaitingInfo.from_waiting(waiting),
        )


class ListColumn(BaseModel):
    """A column of a list that was asked for."""

    key: str = Field(description="As it was asked for; the key in `values` of each job.")
    name: str = Field(description="The full name.")
    kind: ColumnKind = Field(description="unknown: no job has it.")


class ListedJob(JobSummary):
    """A job in a list, with the columns that were asked for."""

    model_config = example(**_SUMMARY, values={"learning_rate": 0.01, "test_accuracy": None})

    values: dict[str, Scalar] | None = Field(
        default=None, description="Values by column; null: no columns were asked for."
    )

    @classmethod
    def of(
        cls, job: JobRow, attempts: Sequence[AttemptRow], values: dict[str, Scalar] | None
    ) -> Self:
        """Returns the model of a stored job, its attempts in order, and its columns."""
        return cls(**_fields(job, attempts), values=values)


class JobList(BaseModel):
    """One page of a list of jobs."""

    model_config = example(
        jobs=[{**_SUMMARY, "values": {"learning_rate": 0.01}}],
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
        changed=2,
        unchanged=1,
        remaining=0,
        as_of="2026-01-31T12:00:00.000Z",
    )

    dry_run: bool = Field(description="True if nothing was changed.")
    matched: int = Field(description="Jobs that passed the filters before the change.")
    by_state: dict[JobState, int] = Field(description="These jobs by their state.")
    changed: int
    unchanged: int = Field(description="Their state does not allow the change, or they need none.")
    remaining: int = Field(description="Jobs that were not reached; repeat the request for them.")
    as_of: Timestamp | None = Field(description="All of these jobs were created before.")


FIT: dict[str, Any] = {
    "verdict": "fits",
    "basis": "estimate",
    "fullest_tile_bytes": 52_224,
    "tile_bytes": 638_976,
    "tiles_used": 214,
    "tiles": 1472,
    "input_spikes": 64,
}


class FitInfo(BaseModel):
    """The predicted memory of the fullest tile, before anything is compiled."""

    model_config = example(**FIT)

    verdict: Verdict = Field(
        description="may_not_fit: more is predicted than a tile has; cannot_fit: no placement "
        "fits, and a submission is refused."
    )
    basis: Literal["estimate"] = Field(
        default="estimate", description="The compiler may find half or twice as much."
    )
    fullest_tile_bytes: int = Field(description="Predicted memory of the fullest tile.")
    tile_bytes: int = Field(description="Memory of a tile.")
    tiles_used: int = Field(description="Tiles that have neurons or samples.")
    tiles: int = Field(description="Tiles of all IPUs of the job.")
    input_spikes: int = Field(
        description="The assumed number of spikes of a sample and step that come in."
    )

    @classmethod
    def of_spec(cls, spec: AnySpec) -> Self | None:
        """Returns the prediction for a spec, None for a CPU and what is not known."""
        fit = tile_fit(spec) if isinstance(spec, ExperimentSpec) else None
        if fit is None:
            return None
        return cls(
            verdict=fit.verdict,
            fullest_tile_bytes=fit.fullest_tile_bytes,
            tile_bytes=fit.tile_bytes,
            tiles_used=fit.tiles_used,
            tiles=fit.ipus * fit.tiles_per_ipu,
            input_spikes=fit.input_spikes,
        )


class ValidatedSpec(BaseModel):
    """A spec that a submission would accept."""

    model_config = example(valid=True, spec=SPEC, spec_sha256=SHA256, fit=None)

    valid: Literal[True] = True
    spec: dict[str, Any] = Field(description="With all defaults filled in.")
    spec_sha256: str = Field(description="SHA-256 of the spec's canonical JSON.")
    fit: FitInfo | None = Field(
        description="Whether the network fits the tiles of emulated IPUs or IPUs; null for a CPU, "
        "and where that cannot be predicted."
    )


def _fields(job: JobRow, attempts: Sequence[AttemptRow]) -> dict[str, Any]:
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state,
        "reason": job.reason,
        "message": job.message,
        "device": job.device,
        "priority": job.priority,
        "deadline_at": rfc3339(job.deadline_at),
        "finish_by": rfc3339(job.finish_by),
        "start_from": StartInfo.from_row(job),
        "attempt": job.attempt,
        "progress": None if job.progress is None else json.loads(job.progress),
        "summary": None if job.summary is None else json.loads(job.summary),
        "spec_sha256": job.spec_sha256,
        "created_at": rfc3339(job.created_at),
        "started_at": rfc3339(job.started_at),
        "finished_at": rfc3339(job.finished_at),
        "updated_at": rfc3339(job.updated_at),
        "phase_seconds": {
            phase: milliseconds / 1000 for phase, milliseconds in json.loads(job.phase_ms).items()
        },
        "attempts": [AttemptInfo.from_row(attempt) for attempt in attempts],
        "last_seq": job.last_seq,
        "metadata": json.loads(job.metadata),
        "tags": job.tag_list,
        "group": job.group_name,
        "imported": ImportInfo.from_row(job),
        "version": job.version,
    }
