"""Jobs as the API returns them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse_core.pva.band import band_of
from ipulse_core.states import JobState, Reason
from ipulse_service.db.access import Access
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.base import JOB_ID, METRIC, SHA256, SPEC, Timestamp, example
from ipulse_service.http.schemas.jobs.job_parts import (
    AttemptInfo,
    ImportInfo,
    StartInfo,
    WaitingInfo,
)
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.job_view import JobView
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.permissions import JobAction, allowed

SUMMARY: dict[str, Any] = {
    "object": "job",
    "id": JOB_ID,
    "name": "digits",
    "state": "running",
    "reason": None,
    "message": "",
    "device": "cpu",
    "pool": "default",
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
    "project": "default",
    "owner": "alice",
    "created_by": "alice",
    "allowed": ["change", "retry", "continue"],
    "version": 31,
}


class CyclesBand(BaseModel):
    """The band around emulated cycles in which those of an IPU are expected."""

    model_config = example(low=930.0, high=1800.0, share=0.8)

    low: float = Field(description="Cycles, rounded to two digits.")
    high: float
    share: float = Field(description="Share of the published kernels that are in their band.")

    @classmethod
    def of(cls, cycles: float | None) -> Self | None:
        """Returns the band around cycles; None without any."""
        return cls(**band_of(cycles).to_json()) if cycles else None


class JobSummary(BaseModel):
    """A job as a list contains it."""

    model_config = example(**SUMMARY)

    object: Literal["job"] = "job"
    id: str
    name: str
    state: JobState
    reason: Reason | None = Field(description="Why the job is in this state, where that is known.")
    message: str = Field(description="For people; the wording may change.")
    device: str = Field(description="The kind of device that the job needs.")
    pool: str = Field(description="The pool of agents that runs it.")
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
    project: str
    owner: str = Field(description="Who may change it, like maintainers of the project.")
    created_by: str = Field(description="Who submitted it.")
    allowed: list[JobAction] = Field(
        description="What the rights of the caller let it do, whatever the job's state. change: "
        "edit, cancel, finish, pause, resume and delete it; retry: also that, which needs the "
        "right to submit code for a job with code; continue: train on, as a job of its own."
    )
    version: int = Field(description="Incremented by every change of the job.")


DETAIL: dict[str, Any] = {
    **SUMMARY,
    "notes": "",
    "spec": SPEC,
    "waiting_on": None,
    "cycles_band": None,
}


class JobDetail(JobSummary):
    """A job with its spec, and while it waits, what for."""

    model_config = example(**DETAIL)

    notes: str = Field(description="Notes for people, in Markdown.")
    spec: dict[str, Any] = Field(description="With all defaults filled in.")
    waiting_on: WaitingInfo | None
    cycles_band: CyclesBand | None = Field(
        description="The band around `emulated_cycles` of the summary; null without them."
    )

    @classmethod
    def from_view(cls, view: JobView, access: Access) -> Self:
        """Returns the model of a stored job for a caller."""
        fields = summary_fields(view.job, view.attempts, access)
        waiting = view.waiting
        return cls(
            **fields,
            cycles_band=CyclesBand.of((fields["summary"] or {}).get("emulated_cycles")),
            notes=view.job.notes,
            spec=json.loads(view.spec),
            waiting_on=None if waiting is None else WaitingInfo.from_waiting(waiting),
        )


def summary_fields(job: JobRow, attempts: Sequence[AttemptRow], access: Access) -> dict[str, Any]:
    """Returns the fields of a summary of a job for a caller."""
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state,
        "reason": job.reason,
        "message": job.message,
        "device": job.device,
        "pool": job.pool,
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
        "project": job.project,
        "owner": job.owner,
        "created_by": job.created_by,
        "allowed": allowed(access, job),
        "version": job.version,
    }
