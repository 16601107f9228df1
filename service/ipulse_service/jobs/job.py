"""The row of a job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ipulse_core.states import JobState, Phase, Reason
from ipulse_service.agents.needs import Needs
from ipulse_service.db.tables import jobs
from ipulse_service.jobs.scheduling_options import SchedulingOptions


class JobRow(NamedTuple):
    """A job's row but for its spec, of up to 4 MiB. Times are milliseconds since 1970.

    JSON is text.
    """

    pk: int
    id: str
    name: str
    state: JobState
    reason: Reason | None
    message: str
    device: str
    spec_sha256: str
    metadata: str  # JSON
    attempt: int
    progress: str | None  # JSON
    summary: str | None  # JSON
    phase_ms: str  # JSON
    created_at: int
    started_at: int | None
    finished_at: int | None
    updated_at: int
    state_since: int
    queued_at: int  # its position in the queue, which it keeps when an attempt is lost
    priority: int
    losses: int
    retried_at: int | None  # when a user last retried it after a failure
    retried_run_ms: int  # how long agents held it before that
    queue_seconds: int | None
    run_seconds: int | None
    total_seconds: int | None
    deadline_at: int | None
    due_at: int | None
    last_seq: int
    version: int
    ipus: int  # that it attaches; 0: none
    data_set: str | None  # KIND/NAME of files that its agent must have
    requires: str | None  # JSON: requirements that its agent must meet
    pool: str  # of its agent
    tags: str  # a sorted JSON array
    group_name: str | None
    notes: str  # Markdown
    start_from: str | None  # JSON: the file of another job that it starts from
    start_job: str | None  # id of that job, which may be deleted
    start_sha256: str | None  # of that file
    finish_by: int | None  # asked to finish: when it is cancelled instead
    finish_reason: str | None  # of a job that was asked to finish
    dataset_sha256: str | None  # of the uploaded data that it needs
    imported_at: int | None  # None: it ran here
    imported_sha256: str | None  # of the archive that it was imported from
    project: str
    owner: str  # who may change it
    created_by: str  # who submitted it

    @classmethod
    def of(cls, row: Sequence[Any]) -> JobRow:
        """Makes a job of a row of COLUMNS."""
        pk, job_id, name, state, reason, *rest = row
        return cls(pk, job_id, name, JobState(state), reason and Reason(reason), *rest)

    @property
    def needs(self) -> Needs:
        """The needs that were stored when it was submitted."""
        starts = self.start_from is not None
        return Needs(self.device, self.ipus, self.data_set, starts, self.requires, self.pool)

    @property
    def options(self) -> SchedulingOptions:
        """The options of its submission."""
        return SchedulingOptions(
            self.priority, self.queue_seconds, self.run_seconds, self.total_seconds
        )

    @property
    def limited_from(self) -> int:
        """When its limits of time began to count: its submission, or its last retry."""
        return self.created_at if self.retried_at is None else self.retried_at

    @property
    def run_ms(self) -> int:
        """How long agents have held it, up to its present state."""
        spent: dict[str, int] = json.loads(self.phase_ms)
        return sum(spent.get(phase.value, 0) for phase in Phase)

    @property
    def tag_list(self) -> list[str]:
        """The tags that users gave it, in order."""
        tags: list[str] = json.loads(self.tags)
        return tags

    @property
    def tag(self) -> str:
        """The job's version, of which ETags are made.

        After an old backup was restored, version numbers are used again; the time makes them
        different. A job that is deleted and imported has the version and time of before.
        """
        imported = "" if self.imported_at is None else f"-{self.imported_at:x}"
        return f"{self.version}-{self.updated_at:x}{imported}"


COLUMNS = tuple(jobs.c[name] for name in JobRow._fields)
