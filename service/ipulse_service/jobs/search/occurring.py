"""The columns that occur in the jobs that a search finds, with counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, select

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import job_metrics, job_settings, jobs
from ipulse_service.jobs.search import search
from ipulse_service.jobs.search.columns import ColumnKind
from ipulse_service.jobs.search.fields import FIELDS
from ipulse_service.jobs.search.filters import JobFilter
from ipulse_service.jobs.search.vocabulary import Vocabulary

ValueType = Literal["number", "text", "boolean", "mixed", "null"]


@dataclass(frozen=True)
class OccurringColumn:
    """A column and how many of the jobs have it; `differs`: with at least two values."""

    name: str
    label: str
    kind: ColumnKind
    jobs: int
    differs: bool | None
    type: ValueType
    min: float | None
    max: float | None


def columns(
    transaction: Transaction, vocabulary: Vocabulary, wanted: JobFilter
) -> tuple[int, list[OccurringColumn]]:
    """Returns the number of jobs, and their fields, metrics and settings by name."""
    total = search.count(transaction, wanted)
    return total, [
        *_fields(total),
        *_metrics(transaction, vocabulary, wanted),
        *_settings(transaction, vocabulary, wanted, total),
    ]


def _fields(total: int) -> Iterator[OccurringColumn]:
    for name, field in FIELDS.items():
        kind: ValueType = "number" if field.kind in ("number", "seconds", "age") else "text"
        yield OccurringColumn(name, name, "field", total, None, kind, None, None)


def _metrics(
    transaction: Transaction, vocabulary: Vocabulary, wanted: JobFilter
) -> Iterator[OccurringColumn]:
    names = {number: name for name, number in vocabulary.metrics.items()}
    kept = job_metrics.c.kept
    query = (
        select(job_metrics.c.name_id, func.count(), func.min(kept), func.max(kept))
        .where(job_metrics.c.job_pk.in_(select(jobs.c.pk).where(*wanted.clauses(transaction))))
        .group_by(job_metrics.c.name_id)
    )
    rows = sorted((names[number], *row) for number, *row in transaction.connection.execute(query))
    for name, number, least, most in rows:
        yield OccurringColumn(name, name, "metric", number, least != most, "number", least, most)


def _settings(
    transaction: Transaction, vocabulary: Vocabulary, wanted: JobFilter, total: int
) -> Iterator[OccurringColumn]:
    names = {number: name for name, number in vocabulary.settings.items()}
    value, number = job_settings.c.value, job_settings.c.number
    query = (
        select(
            job_settings.c.name_id,
            func.count(),
            func.count(number),
            func.min(value),
            func.max(value),
            func.min(number),
            func.max(number),
        )
        .where(job_settings.c.job_pk.in_(select(jobs.c.pk).where(*wanted.clauses(transaction))))
        .group_by(job_settings.c.name_id)
    )
    rows = sorted((names[key], *row) for key, *row in transaction.connection.execute(query))
    for name, having, numbers, low, high, least, most in rows:
        yield OccurringColumn(
            name,
            vocabulary.label(name),
            "setting",
            having,
            low != high or having < total,
            _type(low, high, having, numbers),
            least,
            most,
        )


def _type(low: str, high: str, having: int, numbers: int) -> ValueType:
    """Returns the type of the values between two JSON texts, of which some are numbers."""
    if numbers == having:
        return "number"
    kinds = {type(json.loads(text)) for text in (low, high)} - {type(None)}
    if not kinds and not numbers:
        return "null"
    if kinds == {bool} and not numbers:
        return "boolean"
    if kinds == {str} and not numbers:
        return "text"
    return "number" if numbers and not kinds & {str, bool} else "mixed"
