"""Columns of job lists and comparisons: their names, and orders by them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, cast, func, select
from sqlalchemy.dialects.postgresql import JSONB

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import job_metrics, job_settings, jobs
from ipulse_service.jobs.search.fields import JobField
from ipulse_service.jobs.search.terms import QUOTED, InvalidQuery, QueryText, invalid
from ipulse_service.jobs.search.vocabulary import (
    Column,
    LabelColumn,
    MetricColumn,
    SettingColumn,
    Vocabulary,
)

Scalar = str | int | float | bool | None
ColumnKind = Literal["field", "setting", "metric", "unknown"]

MAX_COLUMNS = 100
MAX_KEYS = 5  # of a sort
_ITEM = re.compile(rf"(?:{QUOTED}|[^,])+", re.DOTALL)


class AskedColumn(NamedTuple):
    """A column as it was asked for, and what it means; no `column`: no job has it."""

    key: str
    name: str
    kind: ColumnKind
    column: Column | None


class SortKey(NamedTuple):
    """A column to sort by."""

    column: Column
    is_descending: bool


def asked_columns(vocabulary: Vocabulary, text: str) -> list[AskedColumn]:
    """Returns the columns that a list of names with commas asks for.

    A name that no job has is of the kind `unknown`, so that a stored view still opens. Raises
    InvalidQuery for a name that several settings share.
    """
    items = _items(text, "/query/columns", MAX_COLUMNS)
    return [asked_column(vocabulary, item, "/query/columns") for item in items]


def asked_column(vocabulary: Vocabulary, item: QueryText, pointer: str) -> AskedColumn:
    """Returns the column that a name asks for, see `asked_columns`."""
    try:
        column = vocabulary.column(item, pointer)
    except InvalidQuery as error:
        if error.problems[0].code != "unknown_name":
            raise
        column = None
    if column is None:
        return AskedColumn(item.text, item.text, "unknown", None)
    return AskedColumn(item.text, column.name, kind_of(column), column)


def sort_keys(vocabulary: Vocabulary, text: str) -> list[SortKey]:
    """Returns the keys of a sort such as `-test_accuracy,name`. Raises InvalidQuery."""
    keys = []
    for item in _items(text, "/query/sort", MAX_KEYS):
        is_descending = item.text.startswith("-")
        if is_descending:
            item = QueryText(item.text[1:], item.position + 1, item.length - 1)
        column = vocabulary.column(item, "/query/sort")
        if column is not None:
            keys.append(SortKey(column, is_descending))
    return keys


def kind_of(column: Column) -> ColumnKind:
    """Returns whether a column is a field of the job, a setting or a metric."""
    if isinstance(column, MetricColumn):
        return "metric"
    return "setting" if isinstance(column, SettingColumn) else "field"


def order_by(transaction: Transaction, keys: Sequence[SortKey]) -> list[ColumnElement[Any]]:
    """Returns the ORDER BY of a sort: jobs without a value last, equal ones newest first.

    If the oldest jobs come first, so do those of one submission, such as a sweep's.
    """
    orders: list[ColumnElement[Any]] = []
    for column, is_descending in keys:
        for expression in _expressions(transaction, column):
            order = expression.desc() if is_descending else expression.asc()
            orders.append(order.nulls_last())
    oldest_first = bool(keys) and keys[0].column.name == "created" and not keys[0].is_descending
    return [*orders, jobs.c.pk.asc() if oldest_first else jobs.c.pk.desc()]


def _items(text: str, pointer: str, most: int) -> list[QueryText]:
    items = []
    for match in _ITEM.finditer(text):
        name = match.group().strip()
        begin = match.start() + len(match.group()) - len(match.group().lstrip())
        if name:
            items.append(QueryText(name, begin, len(name)))
    if len(items) > most:
        raise invalid("too_complex", f"at most {most} names", items[most].position, 0, pointer)
    return items


def _expressions(transaction: Transaction, column: Column) -> list[ColumnElement[Any]]:
    match column:
        case JobField(kind="age"):
            return [jobs.c.created_at * -1]
        case JobField():
            return [column.expression(transaction.now)]
        case LabelColumn(_, key):
            return [label_text(transaction, key)]
        case SettingColumn(_, number):
            here = (job_settings.c.job_pk == jobs.c.pk) & (job_settings.c.name_id == number)
            return [
                select(stored).where(here).correlate(jobs).scalar_subquery()
                for stored in (job_settings.c.number, job_settings.c.value)
            ]
        case MetricColumn(_, _, statistic, number):
            here = (job_metrics.c.job_pk == jobs.c.pk) & (job_metrics.c.name_id == number)
            value = select(job_metrics.c[statistic]).where(here)
            return [value.correlate(jobs).scalar_subquery()]


def label_text(transaction: Transaction, key: str) -> ColumnElement[Any]:
    """Returns the expression of a value of a job's metadata."""
    if transaction.connection.dialect.name == "postgresql":
        return func.jsonb_extract_path_text(cast(jobs.c.metadata, JSONB), key)
    # A path of SQLite knows no escapes, which a key in the stored document may have.
    members = func.json_each(jobs.c.metadata).table_valued("key", "value")
    found = select(members.c.value).where(members.c.key == key)
    return found.correlate(jobs).scalar_subquery()
