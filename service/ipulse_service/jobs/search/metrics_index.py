"""The index of metrics: of each job and metric the kept, smallest, largest and last value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import events, job_metrics
from ipulse_service.jobs.search import name_ids

# No results of the training; a search for these names means the settings.
LEFT_OUT = frozenset({"epochs", "learning_rate", "run_seconds", "seconds", "steps"})

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

Row = dict[str, Any]
EpochValues = tuple[int, Mapping[str, float]]  # an epoch and its metrics


def fold(rows: dict[str, Row], epoch: int, values: Mapping[str, float]) -> None:
    """Adds the metrics of an epoch to rows by name; until the end, the last epoch is kept."""
    for name, value in values.items():
        if name in LEFT_OUT or len(name) > name_ids.MAX_NAME:
            continue
        row = rows.get(name)
        if row is None:
            rows[name] = {
                **dict.fromkeys(("kept", "smallest", "largest", "last"), value),
                **dict.fromkeys(("smallest_epoch", "largest_epoch", "last_epoch"), epoch),
            }
            continue
        row.update(kept=value, last=value, last_epoch=epoch)
        if value < row["smallest"]:
            row.update(smallest=value, smallest_epoch=epoch)
        if value > row["largest"]:
            row.update(largest=value, largest_epoch=epoch)


def keep(rows: dict[str, Row], summary: Mapping[str, float], kept: Mapping[str, float]) -> None:
    """Sets the values of the kept epoch: those of the summary, else those of its event."""
    for name, value in {**kept, **summary}.items():
        if name in rows:
            rows[name]["kept"] = value
        else:
            fold(rows, int(summary.get("kept_epoch", 0)), {name: value})


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
