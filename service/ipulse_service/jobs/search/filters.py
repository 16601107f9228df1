"""Filters of job lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo

from sqlalchemy import ColumnElement, cast, func
from sqlalchemy.dialects.postgresql import JSONB

from ipulse_core import strict_json
from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import HIDDEN, jobs
from ipulse_service.jobs.search.clauses import clause_of
from ipulse_service.jobs.search.columns import Scalar, label_text
from ipulse_service.jobs.search.terms import Term
from ipulse_service.jobs.search.vocabulary import Vocabulary

_AFTER_DIGITS = "g"  # sorts after every hexadecimal digit


@dataclass(frozen=True)
class Field:
    """A condition on the spec; `path` consists of member names and array indices."""

    path: tuple[str, ...]
    value: Scalar


@dataclass(frozen=True)
class Label:
    """A condition on the spec's metadata."""

    name: str
    value: str


@dataclass(frozen=True)
class JobFilter:
    """Conditions that all must hold; an empty filter accepts every job. Times are milliseconds."""

    states: tuple[JobState, ...] = ()
    devices: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()  # in the spec's metadata
    fields: tuple[Field, ...] = ()  # in the spec
    created_after: int | None = None
    created_before: int | None = None
    id_prefix: str = ""  # job_ and hexadecimal digits
    group: str | None = None  # the name of a group
    query: Term | None = None  # in the search language
    # Of times in the query that have none; it is no condition.
    zone: tzinfo = field(default=UTC, compare=False)

    @property
    def looks_inside(self) -> bool:
        """Return whether it has conditions inside specs, for which there is no index."""
        return bool(self.labels or self.fields)

    def only_indexed(self) -> JobFilter:
        """Returns the conditions for which there is an index."""
        return replace(self, labels=(), fields=(), query=None)

    def clauses(self, transaction: Transaction) -> list[ColumnElement[bool]]:
        """Returns SQL clauses for all conditions, and that the caller may read the job.

        Raises InvalidQuery.
        """
        visible = transaction.access.where(jobs)
        return [visible, *self.indexed_clauses(), *self.other_clauses(transaction)]

    def indexed_clauses(self) -> Iterator[ColumnElement[bool]]:
        """Yields SQL clauses for which there is an index."""
        if self.states:
            yield jobs.c.state.in_(sorted(state.value for state in self.states))
        else:
            yield jobs.c.state.not_in(HIDDEN)
        if self.devices:
            yield jobs.c.device.in_(sorted(self.devices))
        if self.id_prefix:  # a range, for which every database uses the index of ids
            yield jobs.c.id.between(self.id_prefix, self.id_prefix + _AFTER_DIGITS)
        if self.group is not None:
            yield jobs.c.group_name == self.group
        if self.created_after is not None:
            yield jobs.c.created_at >= self.created_after
        if self.created_before is not None:
            yield jobs.c.created_at < self.created_before

    def other_clauses(self, transaction: Transaction) -> Iterator[ColumnElement[bool]]:
        """Yields SQL clauses of the query, and on values inside specs. Raises InvalidQuery."""
        if self.query is not None:
            yield clause_of(self.query, transaction, Vocabulary(transaction), self.zone)
        dialect = transaction.connection.dialect.name
        holds = _holds_in_postgresql if dialect == "postgresql" else _holds_in_sqlite
        for label in self.labels:
            yield label_text(transaction, label.name) == label.value
        for wanted in self.fields:
            yield holds(wanted)


def _holds_in_postgresql(field: Field) -> ColumnElement[bool]:
    found = func.jsonb_extract_path(cast(jobs.c.spec, JSONB), *field.path)
    return found == cast(field.value, JSONB)


def _holds_in_sqlite(field: Field) -> ColumnElement[bool]:
    # Keys are compared as they are written in the stored document, where they may be escaped.
    escaped = tuple(strict_json.dumps(name)[1:-1] for name in field.path)
    found = _holds_at(field)
    return found if escaped == field.path else found | _holds_at(replace(field, path=escaped))


def _holds_at(field: Field) -> ColumnElement[bool]:
    column = jobs.c.spec
    path = "$" + "".join(
        f"[{name}]" if name.isascii() and name.isdigit() else f'."{name}"' for name in field.path
    )
    # Compared as JSON texts, so that true is not 1; numbers by value, so that 1.0 is 1.
    if isinstance(field.value, (int, float)) and not isinstance(field.value, bool):
        is_number = func.json_type(column, path).in_(("integer", "real"))
        return is_number & (func.json_extract(column, path) == field.value)
    return column.op("->")(path) == strict_json.dumps(field.value)
