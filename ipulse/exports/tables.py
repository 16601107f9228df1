"""Tables of jobs and their metrics as CSV or Parquet files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ipulse.optional_modules import optional_module

from .record import JobRecord

Row = dict[str, Any]
_JOB_FIELDS = ("id", "name", "state", "reason", "device", "group", "attempt")
_TIMES = ("created_at", "started_at", "finished_at")
LONG_COLUMNS = ("job", "scope", "epoch", "step", "time", "name", "value")


def write_tables(
    records: Sequence[JobRecord], to: Path, form: Literal["csv", "parquet"]
) -> list[Path]:
    """Write jobs (one row a job, all settings and final metrics), metrics and metrics_wide.

    `metrics` has one row per value, `metrics_wide` one per job, scope and step. Raises
    MissingDependency.
    """
    to.mkdir(parents=True, exist_ok=True)
    tables = {
        "jobs": [job_row(record) for record in records],
        "metrics": [row for record in records for row in long_rows(record)],
        "metrics_wide": [row for record in records for row in wide_rows(record)],
    }
    write = _write_csv if form == "csv" else _write_parquet
    return [write(rows, to / f"{name}.{form}") for name, rows in tables.items()]


def job_row(record: JobRecord) -> Row:
    """Return the row of a job: its attributes, final metrics and every setting."""
    job = record.job.json
    row = {name: job.get(name) for name in (*_JOB_FIELDS, *_TIMES)}
    row["tags"] = " ".join(job.get("tags", ()))
    row |= {f"final.{name}": value for name, value in record.summary.items()}
    return {**row, **{f"spec.{name}": value for name, value in record.settings.items()}}


def long_rows(record: JobRecord) -> list[Row]:
    """Return one row per value of a metric."""
    return [
        {**_place(record, point), "name": name, "value": value}
        for point in record.points
        for name, value in point.values.items()
    ]


def wide_rows(record: JobRecord) -> list[Row]:
    """Return one row per step and epoch, with a column for each metric."""
    return [{**_place(record, point), **point.values} for point in record.points]


def _place(record: JobRecord, point: Any) -> Row:
    return {
        "job": record.job.id,
        "scope": point.scope,
        "epoch": point.epoch,
        "step": point.step,
        "time": point.time.isoformat(),
    }


def _columns(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _write_csv(rows: Sequence[Row], path: Path) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _columns(rows) or LONG_COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def _write_parquet(rows: Sequence[Row], path: Path) -> Path:
    arrow = optional_module("pyarrow", "a Parquet file", "parquet")
    parquet = optional_module("pyarrow.parquet", "a Parquet file", "parquet")
    columns = {name: _of_one_type([row.get(name) for row in rows]) for name in _columns(rows)}
    parquet.write_table(arrow.table(columns or {name: [] for name in LONG_COLUMNS}), path)
    return path


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return a column with one type: numbers as float, else text where the types differ."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return values
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]
