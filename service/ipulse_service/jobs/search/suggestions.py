"""Suggestions while a query is typed: names, and values that occur with their counts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from sqlalchemy import ColumnElement, func, select

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import attempts, job_metrics, job_settings, jobs
from ipulse_service.jobs.search.columns import kind_of
from ipulse_service.jobs.search.fields import FIELDS, JobField
from ipulse_service.jobs.search.terms import InvalidQuery, QueryText
from ipulse_service.jobs.search.vocabulary import (
    USUAL_METRICS,
    MetricColumn,
    SettingColumn,
    Vocabulary,
)

MOST = 20
_TYPED = re.compile(r'(?:"[^"]*"|[^\s()"])*(?:"[^"]*)?$')  # the term that ends at the cursor
_NAMED = re.compile(r"-?(?P<name>[A-Za-z_/][^:=!<>]*)(?P<operator>:|!=|<=|>=|=|<|>)")
_BARE = re.compile(r"[^\s()\",]+")
_GROUPED = ("choice", "text", "dataset", "op")


@dataclass(frozen=True)
class Suggestion:
    """A text that can replace what is typed."""

    text: str
    label: str
    jobs: int | None  # that have it, where that is known
    about: str


@dataclass(frozen=True)
class Suggestions:
    """Suggestions for the part of a query from `start` to `end`."""

    start: int
    end: int
    kind: Literal["name", "value"]
    items: list[Suggestion]


def suggest(transaction: Transaction, vocabulary: Vocabulary, query: str, at: int) -> Suggestions:
    """Returns what may stand at the cursor, before the character `at`."""
    begin = at
    for match in _TYPED.finditer(query, 0, at):
        begin = match.start()
        break
    typed = query[begin:at]
    named = _NAMED.match(typed)
    if named is None:
        begin += typed.startswith("-")
        words = typed.removeprefix("-").lower()
        return Suggestions(begin, at, "name", _names(vocabulary, words))
    start = begin + max(named.end(), typed.rfind(",") + 1)
    prefix = query[start:at].strip('"').lower()
    name = QueryText(named["name"].rstrip(), begin, len(named["name"]))
    values = _values(transaction, vocabulary, name)
    matching = (item for item in values if prefix in item.label.lower())
    return Suggestions(start, at, "value", list(islice(matching, MOST)))


def _names(vocabulary: Vocabulary, words: str) -> list[Suggestion]:
    known = [
        *((name, f"{name}:", field.about) for name, field in FIELDS.items()),
        *(
            (name, f"{name}>", "metric of the kept epoch; also .best .min .max .last")
            for name in sorted({*USUAL_METRICS, *vocabulary.metrics})
        ),
        *((label := vocabulary.label(name), f"{label}=", name) for name in vocabulary.settings),
    ]
    found = [item for item in known if words in item[0].lower() or words in item[2].lower()]
    # Names that begin so come first.
    found.sort(key=lambda item: not item[0].lower().startswith(words))
    return [Suggestion(text, label, None, about) for label, text, about in found[:MOST]]


def _values(
    transaction: Transaction, vocabulary: Vocabulary, name: QueryText
) -> Iterator[Suggestion]:
    try:
        column = vocabulary.column(name)
    except InvalidQuery:
        return
    if isinstance(column, SettingColumn):
        grouped = _counts(transaction, job_settings.c.value, job_settings.c.name_id == column.id)
        for text, jobs_with_it in grouped:
            yield _value(_shown(text), jobs_with_it, column.name)
    elif isinstance(column, MetricColumn) and column.id is not None:
        value = job_metrics.c[column.statistic]
        query = select(func.min(value), func.max(value)).where(job_metrics.c.name_id == column.id)
        for bound, about in zip(
            transaction.connection.execute(query).one(), ("smallest", "largest"), strict=True
        ):
            if bound is not None:
                yield _value(f"{bound:.6g}", None, f"the {about} {kind_of(column)}")
    elif isinstance(column, JobField):
        yield from _field_values(transaction, column)


def _field_values(transaction: Transaction, field: JobField) -> Iterator[Suggestion]:
    if field.kind == "tags":
        tags: Counter[str] = Counter()
        for text, number in _counts(transaction, jobs.c.tags):
            for tag in json.loads(text):
                tags[tag] += number
        yield from _suggestions(tags.most_common(), field)
    elif field.name == "sweep":
        is_sweep = jobs.c.group_name.startswith("swp_", autoescape=True)
        yield from _suggestions(_counts(transaction, jobs.c.group_name, is_sweep), field)
    elif field.kind == "agent":
        yield from _suggestions(_counts(transaction, attempts.c.agent), field)
    elif field.kind in _GROUPED and field.name != "notes":
        grouped = _counts(transaction, field.expression(0))
        yield from _suggestions(((text, number) for text, number in grouped if text), field)
        present = {text for text, _ in grouped}
        if field.name == "state":
            yield from (_value(name, 0, "") for name in field.choices if name not in present)
    elif field.kind in ("age", "seconds"):
        for text in ("1h", "1d", "7d", "4w") if field.kind == "age" else ("60", "10m", "1h"):
            yield _value(text, None, "s, m, h, d or w")


def _suggestions(counts: Iterable[tuple[str, int]], field: JobField) -> Iterator[Suggestion]:
    for text, number in counts:
        yield _value(text, number, field.about)


def _counts(
    transaction: Transaction, value: ColumnElement[str], *conditions: ColumnElement[bool]
) -> list[tuple[str, int]]:
    """Returns the most frequent values and how often they occur."""
    number = func.count()
    query = select(value, number).where(*conditions).group_by(value)
    query = query.order_by(number.desc(), value).limit(10 * MOST)
    return [(text, count) for text, count in transaction.connection.execute(query)]


def _value(text: str, number: int | None, about: str) -> Suggestion:
    written = text if _BARE.fullmatch(text) and "*" not in text else f'"{text}"'
    return Suggestion(written, text, number, about)


def _shown(text: str) -> str:
    value = json.loads(text)
    return value if isinstance(value, str) else text
