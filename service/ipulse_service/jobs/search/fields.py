"""The fields of a job that a search, a sort and a column can name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, String, case, cast, func, select

from ipulse_core.states import JobState, Reason
from ipulse_service.db.tables import attempts, dataset_versions, datasets, job_ops, jobs

FieldKind = Literal[
    "choice",
    "text",
    "id",
    "tags",
    "agent",
    "dataset",
    "op",
    "lineage",
    "number",
    "seconds",
    "age",
    "time",
]
Expression = ColumnElement[Any]


@dataclass(frozen=True)
class JobField:
    """A field: how it is compared, and its expression in SQL at a time in milliseconds."""

    name: str
    kind: FieldKind
    about: str
    expression: Callable[[int], Expression]
    choices: tuple[str, ...] = ()


def agent_of_latest_attempt(_now: int) -> Expression:
    """Returns the name of the agent that has or had the job last."""
    latest = (attempts.c.job_pk == jobs.c.pk) & (attempts.c.number == jobs.c.attempt)
    return select(attempts.c.agent).where(latest).correlate(jobs).scalar_subquery()


def data_set_reference(_now: int = 0) -> Expression:
    """Returns NAME@VERSION of the uploaded data of a job; null: it has none."""
    reference = datasets.c.name + "@" + cast(dataset_versions.c.number, String)
    return (
        select(reference)
        .join(dataset_versions, dataset_versions.c.dataset_pk == datasets.c.pk)
        .where(dataset_versions.c.sha256 == jobs.c.dataset_sha256)
        .where(datasets.c.project == jobs.c.project)
        .order_by(dataset_versions.c.pk.desc())
        .limit(1)
        .correlate(jobs)
        .scalar_subquery()
    )


OP_REFERENCE = job_ops.c.name + "@sha256:" + job_ops.c.sha256


def op_reference(_now: int = 0) -> Expression:
    """Returns NAME@sha256:DIGEST of each custom op of a job, with commas; null: it has none."""
    named = select(func.aggregate_strings(OP_REFERENCE, ", "))
    return named.where(job_ops.c.job_pk == jobs.c.pk).correlate(jobs).scalar_subquery()


def _waited(now: int) -> Expression:
    end = func.coalesce(jobs.c.started_at, jobs.c.finished_at, now)
    return (end - jobs.c.created_at) / 1000.0


def _ran(now: int) -> Expression:
    seconds = (func.coalesce(jobs.c.finished_at, now) - jobs.c.started_at) / 1000.0
    return case((jobs.c.started_at.is_not(None), seconds))


def _column(name: str) -> Callable[[int], Expression]:
    return lambda _now: jobs.c[name]


_ALL = (
    JobField(
        "state", "choice", "state of the job", _column("state"), tuple(s.value for s in JobState)
    ),
    JobField("reason", "choice", "why it is so", _column("reason"), tuple(r.value for r in Reason)),
    JobField("device", "text", "kind of device", _column("device")),
    JobField("name", "text", "name of the job", _column("name")),
    JobField("id", "id", "id, or its beginning", _column("id")),
    JobField("project", "text", "project", _column("project")),
    JobField("owner", "text", "who may change it", _column("owner")),
    JobField("created_by", "text", "who submitted it", _column("created_by")),
    JobField("tag", "tags", "a tag", _column("tags")),
    JobField("group", "text", "group of jobs", _column("group_name")),
    JobField("sweep", "id", "id of a sweep, or its beginning", _column("group_name")),
    JobField("notes", "text", "notes", _column("notes")),
    JobField("agent", "agent", "agent of an attempt", agent_of_latest_attempt),
    JobField("dataset", "dataset", "uploaded data: NAME, or NAME@VERSION", data_set_reference),
    JobField("op", "op", "custom op: NAME, or NAME@sha256:DIGEST", op_reference),
    JobField("start_from", "id", "id of the job that it started from", _column("start_job")),
    JobField("lineage", "lineage", "id of a job: it, its ancestors and descendants", _column("id")),
    JobField("priority", "number", "priority", _column("priority")),
    JobField("attempt", "number", "number of the latest attempt", _column("attempt")),
    JobField("age", "age", "time since the submission", lambda now: now - jobs.c.created_at),
    JobField("created", "time", "time of the submission", _column("created_at")),
    JobField("started", "time", "time of the first attempt", _column("started_at")),
    JobField("finished", "time", "time of the end", _column("finished_at")),
    JobField("imported", "time", "time of the import of an archive", _column("imported_at")),
    JobField("queue_seconds", "seconds", "time until the first attempt", _waited),
    JobField("run_seconds", "seconds", "time since the first attempt", _ran),
)
FIELDS: dict[str, JobField] = {field.name: field for field in _ALL}
