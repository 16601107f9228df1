"""The values of columns of some jobs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import select

from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.tables import job_metrics, job_settings, jobs
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.search.columns import AskedColumn, Scalar
from ipulse_service.jobs.search.fields import JobField
from ipulse_service.jobs.search.vocabulary import (
    Column,
    LabelColumn,
    MetricColumn,
    SettingColumn,
)

# Kinds of fields that name an upload, and whether a job may have one.
_REFERENCES: dict[str, Callable[[JobRow], bool]] = {
    "dataset": lambda job: job.dataset_sha256 is not None,
    "op": lambda job: job.needs.has_code,
}


def values_of(
    transaction: Transaction,
    rows: Sequence[JobRow],
    columns: Sequence[AskedColumn],
    agents: Mapping[int, str],
) -> dict[int, dict[str, Scalar]]:
    """Returns the values of columns by the keys of jobs; `agents` are those of latest attempts."""
    pks = [row.pk for row in rows]
    settings = _settings(transaction, pks, columns)
    metrics = metric_rows(transaction, pks, columns)
    references = _references(transaction, rows, columns)
    return {
        row.pk: {
            asked.key: _value(
                transaction.now, row, asked.column, settings, metrics, references, agents
            )
            for asked in columns
        }
        for row in rows
    }


def _settings(
    transaction: Transaction, pks: Sequence[int], columns: Sequence[AskedColumn]
) -> dict[tuple[int, int], Scalar]:
    ids = {asked.column.id for asked in columns if isinstance(asked.column, SettingColumn)}
    if not ids or not pks:
        return {}
    query = select(job_settings.c.job_pk, job_settings.c.name_id, job_settings.c.value).where(
        job_settings.c.job_pk.in_(pks), job_settings.c.name_id.in_(sorted(ids))
    )
    return {
        (pk, number): json.loads(value)
        for pk, number, value in transaction.connection.execute(query)
    }


def metric_rows(
    transaction: Transaction, pks: Sequence[int], columns: Sequence[AskedColumn]
) -> dict[tuple[int, int], Mapping[str, Any]]:
    """Returns the rows of the index of metrics by the keys of jobs and the ids of metrics."""
    found = (asked.column for asked in columns if isinstance(asked.column, MetricColumn))
    ids = {column.id for column in found if column.id is not None}
    if not ids or not pks:
        return {}
    query = select(job_metrics).where(
        job_metrics.c.job_pk.in_(pks), job_metrics.c.name_id.in_(sorted(ids))
    )
    rows = transaction.connection.execute(query)
    by_key: dict[tuple[int, int], Mapping[str, Any]] = defaultdict(dict)
    for row in rows:
        by_key[row.job_pk, row.name_id] = row._asdict()
    return by_key


def _references(
    transaction: Transaction, rows: Sequence[JobRow], columns: Sequence[AskedColumn]
) -> dict[tuple[int, str], str]:
    """Returns the uploaded data and custom ops by the keys of jobs and the names of fields."""
    found: dict[tuple[int, str], str] = {}
    for asked in columns:
        field = asked.column
        if not isinstance(field, JobField) or field.kind not in _REFERENCES:
            continue
        pks = [row.pk for row in rows if _REFERENCES[field.kind](row)]
        if pks:
            expression = field.expression(transaction.now)
            query = select(jobs.c.pk, expression).where(jobs.c.pk.in_(pks))
            rows_of = transaction.connection.execute(query)
            found.update(((pk, field.name), text) for pk, text in rows_of)
    return found


def _value(
    now: int,
    row: JobRow,
    column: Column | None,
    settings: Mapping[tuple[int, int], Scalar],
    metrics: Mapping[tuple[int, int], Mapping[str, Any]],
    references: Mapping[tuple[int, str], str],
    agents: Mapping[int, str],
) -> Scalar:
    match column:
        case None:
            return None
        case SettingColumn(_, number):
            return settings.get((row.pk, number))
        case MetricColumn(_, _, statistic, number):
            found = None if number is None else metrics.get((row.pk, number))
            return None if not found else found[statistic]
        case LabelColumn(_, key):
            label: str | None = json.loads(row.metadata).get(key)
            return label
        case JobField(kind="dataset" | "op"):
            return references.get((row.pk, column.name))
        case JobField():
            return _field_value(now, row, column.name, agents.get(row.pk))


def _field_value(now: int, row: JobRow, name: str, agent: str | None) -> Scalar:
    end = row.finished_at if row.finished_at is not None else now
    begin = row.started_at if row.started_at is not None else end
    values: dict[str, Scalar] = {
        "state": row.state.value,
        "reason": row.reason.value if row.reason else None,
        "device": row.device,
        "name": row.name,
        "id": row.id,
        "project": row.project,
        "owner": row.owner,
        "created_by": row.created_by,
        "tag": ", ".join(json.loads(row.tags)) or None,
        "group": row.group_name,
        "sweep": row.group_name if (row.group_name or "").startswith("swp_") else None,
        "notes": row.notes or None,
        "agent": agent,
        "priority": row.priority,
        "attempt": row.attempt,
        "age": (now - row.created_at) / 1000,
        "created": rfc3339(row.created_at),
        "started": rfc3339(row.started_at),
        "finished": rfc3339(row.finished_at),
        "imported": rfc3339(row.imported_at),
        "start_from": row.start_job,
        "lineage": row.id,
        "queue_seconds": (begin - row.created_at) / 1000,
        "run_seconds": None if row.started_at is None else (end - row.started_at) / 1000,
    }
    return values[name]
