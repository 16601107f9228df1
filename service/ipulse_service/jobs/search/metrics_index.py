"""The index of metrics: of each job and metric the kept, smallest, largest and last value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from sqlalchemy import bindparam, insert, select, update

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import events, job_metrics
from ipulse_service.jobs.search import name_ids
from ipulse_service.reading.metrics_fold import Row, fold, keep

_COLUMNS = ("kept", "smallest", "largest", "last", "smallest_epoch", "largest_epoch", "last_epoch")
_OF_JOB = select(job_metrics).where(job_metrics.c.job_pk == bindparam("of_job"))
_INSERT = insert(job_metrics)
_UPDATE = (
    update(job_metrics)
    .where(
        job_metrics.c.job_pk == bindparam("of_job"), job_metrics.c.name_id == bindparam("of_name")
    )
    .values({name: bindparam(f"new_{name}") for name in _COLUMNS})
)
_METRIC_BODIES = (
    select(events.c.body)
    .where(events.c.job_pk == bindparam("of_job"), events.c.kind == "metric")
    .order_by(events.c.seq.desc())
)

EpochValues = tuple[int, Mapping[str, float]]  # an epoch and its metrics


def add_epochs(transaction: Transaction, job_pk: int, epochs: Iterable[EpochValues]) -> None:
    """Stores the metrics of epochs of a locked job."""
    epochs = list(epochs)
    if not epochs:
        return
    stored, ids = _read(transaction, job_pk)
    rows = {name: dict(row) for name, row in stored.items()}
    for epoch, values in epochs:
        fold(rows, epoch, values)
    _write(transaction, job_pk, stored, rows, ids)


def add_summary(transaction: Transaction, job_pk: int, summary: Mapping[str, float]) -> None:
    """Stores the metrics of the kept epoch of a locked job that has ended."""
    stored, ids = _read(transaction, job_pk)
    rows = {name: dict(row) for name, row in stored.items()}
    last = max((row["last_epoch"] for row in rows.values()), default=0)
    kept_epoch = summary.get("kept_epoch", last)
    kept = {} if kept_epoch == last else _values_of_epoch(transaction, job_pk, int(kept_epoch))
    keep(rows, summary, kept)
    _write(transaction, job_pk, stored, rows, ids)


def _values_of_epoch(transaction: Transaction, job_pk: int, epoch: int) -> dict[str, float]:
    for body in transaction.connection.execute(_METRIC_BODIES, {"of_job": job_pk}).scalars():
        event = json.loads(body)
        if event.get("scope") == "epoch" and event["epoch"] == epoch:
            values: dict[str, float] = event["values"]
            return values
    return {}


def _read(transaction: Transaction, job_pk: int) -> tuple[dict[str, Row], dict[str, int]]:
    ids = name_ids.read(transaction, name_ids.METRIC)
    names = {number: name for name, number in ids.items()}
    rows = transaction.connection.execute(_OF_JOB, {"of_job": job_pk})
    return {
        names[row.name_id]: {column: getattr(row, column) for column in _COLUMNS} for row in rows
    }, ids


def _write(
    transaction: Transaction,
    job_pk: int,
    before: dict[str, Row],
    rows: dict[str, Row],
    ids: dict[str, int],
) -> None:
    if not ids.keys() >= rows.keys():
        ids = name_ids.ensure(transaction, name_ids.METRIC, rows)
    new = [name for name in rows if name not in before]
    if new:
        added = [{"job_pk": job_pk, "name_id": ids[name], **rows[name]} for name in new]
        transaction.connection.execute(_INSERT, added)
    changed = [
        {
            "of_job": job_pk,
            "of_name": ids[name],
            **{f"new_{column}": row[column] for column in _COLUMNS},
        }
        for name, row in rows.items()
        if name in before and row != before[name]
    ]
    if changed:
        transaction.connection.execute(_UPDATE, changed)
