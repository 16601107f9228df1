"""Suggestions while a query is typed: names, and values that occur with their counts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, func, select, true

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import HIDDEN, attempts, job_metrics, job_settings, jobs
from ipulse_service.jobs.search.columns import kind_of
from ipulse_service.jobs.search.fields import FIELDS, JobField
from ipulse_service.jobs.search.syntax import NAME
from ipulse_service.jobs.search.terms import (
    LABEL,
    QUOTED,
    InvalidQuery,
    QueryText,
    quoted,
    unquoted,
)
from ipulse_service.jobs.search.vocabulary import (
    USUAL_METRICS,
    LabelColumn,
    MetricColumn,
    SettingColumn,
    Vocabulary,
)

MOST = 20
# A term, of which the last quoted text may not be closed yet.
_TYPED = re.compile(r'(?:"(?:[^"\\]|\\.)*\\?(?:"|\Z)|[^\s()"])+', re.DOTALL)
_OPERATOR = re.compile(r"\s*(:|!=|<=|>=|=|<|>)")
_DONE = re.compile(rf"(?:(?:{QUOTED}|[^,\"])*,)+", re.DOTALL)  # values before the one at the cursor
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
    terms = [match.start() for match in _TYPED.finditer(query, 0, at) if match.end() == at]
    begin = terms[0] if terms else at
    begin += query.startswith("-", begin, at)
    named = NAME.match(query, begin, at)
    operator = _OPERATOR.match(query, named.end(), at) if named else None
    if named is None or operator is None:
        words = query[begin:at].lower()
        if words.startswith(LABEL):
            words = LABEL + _begun(words.removeprefix(LABEL))
        return Suggestions(begin, at, "name", _names(transaction, vocabulary, words))
    done = _DONE.match(query, operator.end(), at)
    start = done.end() if done else operator.end()
    prefix = _begun(query[start:at]).lower()
    name = QueryText(named.group(), begin, len(named.group()))
    values = _values(transaction, vocabulary, name, prefix)
    matching = (item for item in values if prefix in item.label.lower())
    return Suggestions(start, at, "value", list(islice(matching, MOST)))


def _begun(written: str) -> str:
    """Returns the text that is meant by the beginning of its written form."""
    if not written.startswith('"'):
        return written
    is_whole = re.fullmatch(QUOTED, written, re.DOTALL)
    return unquoted(written[1:-1] if is_whole else written[1:])


def _names(transaction: Transaction, vocabulary: Vocabulary, words: str) -> list[Suggestion]:
    known = [
        *((name, f"{name}:", field.about) for name, field in FIELDS.items()),
        *(
            (name, f"{name}>", "metric of the kept epoch; also .best .min .max .last")
            for name in sorted({*USUAL_METRICS, *vocabulary.metrics})
        ),
        *((label := vocabulary.label(name), f"{label}=", name) for name in vocabulary.settings),
    ]
    if words and (LABEL.startswith(words) or words.startswith(LABEL)):
        keys = sorted({key for key, _ in _labels(transaction)})
        known += ((LABEL + key, f"{LABEL}{quoted(key)}:", "label of the spec") for key in keys)
    found = [item for item in known if any(words in text.lower() for text in item)]
    # Names that begin so come first.
    found.sort(key=lambda item: not item[0].lower().startswith(words))
    return [Suggestion(text, label, None, about) for label, text, about in found[:MOST]]


def _values(
    transaction: Transaction, vocabulary: Vocabulary, name: QueryText, typed: str
) -> Iterator[Suggestion]:
    """Yields values by frequency, among them the most frequent ones that contain `typed`."""
    try:
        column = vocabulary.column(name)
    except InvalidQuery:
        return
    if isinstance(column, SettingColumn):
        of_setting = job_settings.c.name_id == column.id
        has_typed = _contains(job_settings.c.value, _in_json(typed))
        grouped = _counts(transaction, job_settings.c.value, of_setting, has_typed)
        for text, jobs_with_it in grouped:
            value = json.loads(text)
            written = quoted(value) if isinstance(value, str) else text
            shown = value if isinstance(value, str) else text
            yield Suggestion(written, shown, jobs_with_it, column.name)
    elif isinstance(column, MetricColumn) and column.id is not None:
        figure = job_metrics.c[column.statistic]
        query = _of_shown_jobs(
            transaction,
            select(func.min(figure), func.max(figure)).where(job_metrics.c.name_id == column.id),
        )
        for bound, about in zip(
            transaction.connection.execute(query).one(), ("smallest", "largest"), strict=True
        ):
            if bound is not None:
                text = f"{bound:.6g}"
                yield Suggestion(text, text, None, f"the {about} {kind_of(column)}")
    elif isinstance(column, LabelColumn):
        for (key, text), number in _labels(transaction, typed).most_common():
            if key == column.key:
                yield _value(text, number, column.name)
    elif isinstance(column, JobField):
        yield from _field_values(transaction, column, typed)


def _field_values(transaction: Transaction, field: JobField, typed: str) -> Iterator[Suggestion]:
    if field.kind == "tags":
        tags: Counter[str] = Counter()
        for text, number in _counts(
            transaction, jobs.c.tags, _contains(jobs.c.tags, _in_json(typed))
        ):
            for tag in json.loads(text):
                tags[tag] += number
        yield from _suggestions(tags.most_common(), field)
    elif field.name == "sweep":
        is_sweep = jobs.c.group_name.startswith("swp_", autoescape=True)
        has_typed = _contains(jobs.c.group_name, typed)
        yield from _suggestions(_counts(transaction, jobs.c.group_name, is_sweep, has_typed), field)
    elif field.kind == "agent":
        has_typed = _contains(attempts.c.agent, typed)
        yield from _suggestions(_counts(transaction, attempts.c.agent, has_typed), field)
    elif field.kind in _GROUPED and field.name != "notes":
        value = field.expression(0)
        grouped = _counts(transaction, value, _contains(value, typed))
        yield from _suggestions(((text, number) for text, number in grouped if text), field)
        present = {text for text, _ in grouped}
        if field.name == "state":
            yield from (_value(name, 0, "") for name in field.choices if name not in present)
    elif field.kind in ("age", "seconds"):
        for text in ("1h", "1d", "7d", "4w") if field.kind == "age" else ("60", "10m", "1h"):
            yield _value(text, None, "s, m, h, d or w")


def _labels(transaction: Transaction, typed: str = "") -> Counter[tuple[str, str]]:
    """Returns how often labels with a value occur, among the most frequent sets of labels."""
    found: Counter[tuple[str, str]] = Counter()
    has_typed = _contains(jobs.c.metadata, _in_json(typed))
    for text, number in _counts(transaction, jobs.c.metadata, has_typed):
        for label in json.loads(text).items():
            found[label] += number
    return found


def _suggestions(counts: Iterable[tuple[str, int]], field: JobField) -> Iterator[Suggestion]:
    for text, number in counts:
        yield _value(text, number, field.about)


def _counts(
    transaction: Transaction, value: ColumnElement[str], *conditions: ColumnElement[bool]
) -> list[tuple[str, int]]:
    """Returns the most frequent values and how often they occur in jobs that are shown."""
    number = func.count()
    query = _of_shown_jobs(transaction, select(value, number).where(*conditions).group_by(value))
    query = query.order_by(number.desc(), value).limit(10 * MOST)
    return [(text, count) for text, count in transaction.connection.execute(query)]


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _contains(value: ColumnElement[Any], typed: str) -> ColumnElement[bool]:
    """Returns whether a value may contain a text in lower case: SQLite knows the case of ASCII."""
    if not typed.isascii():
        return true()
    return func.lower(value).contains(typed.lower(), autoescape=True)


def _of_shown_jobs(
    transaction: Transaction, query: Select[*tuple[Any, ...]]
) -> Select[*tuple[Any, ...]]:
    """Leaves out the rows of jobs that the caller may not read, or that are imported or deleted."""
    tables = query.get_final_froms()
    if not tables:  # the value is a subquery for each job
        query = query.select_from(jobs)
    elif tables[0] is not jobs:
        query = query.join(jobs, jobs.c.pk == tables[0].c.job_pk)
    return query.where(jobs.c.state.not_in(HIDDEN), transaction.access.where(jobs))


def _value(text: str, number: int | None, about: str) -> Suggestion:
    return Suggestion(quoted(text), text, number, about)
