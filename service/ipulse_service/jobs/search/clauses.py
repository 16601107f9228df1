"""SQL clauses of a parsed query."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    and_,
    exists,
    false,
    func,
    not_,
    or_,
    select,
)

from ipulse_core import strict_json
from ipulse_service.db import calendar
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import attempts, job_metrics, job_ops, job_settings, jobs
from ipulse_service.jobs.search.columns import label_text
from ipulse_service.jobs.search.fields import OP_REFERENCE, JobField
from ipulse_service.jobs.search.syntax import ORDERED
from ipulse_service.jobs.search.terms import (
    NULL,
    AllTerms,
    AnyTerm,
    ComparisonTerm,
    NotTerm,
    QueryText,
    Term,
    WordTerm,
    invalid,
)
from ipulse_service.jobs.search.values import number_in, required_number, seconds_in, time_span
from ipulse_service.jobs.search.vocabulary import (
    Column,
    LabelColumn,
    MetricColumn,
    SettingColumn,
    Vocabulary,
)

Clause = ColumnElement[bool]
_ID_PREFIXES = {"id": "job_", "sweep": "swp_", "start_from": "job_", "lineage": "job_"}
_COMPARE: dict[str, Callable[[Any, Any], Clause]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SPECIAL = re.compile(r"[\\%_]")
LONGEST_ID = 64


def clause_of(
    term: Term, transaction: Transaction, vocabulary: Vocabulary, zone: tzinfo = UTC
) -> Clause:
    """Returns the condition on a row of `jobs` that a query states. Raises InvalidQuery.

    Times without a zone are in `zone`.
    """
    return _Clauses(transaction, vocabulary, zone).of(term)


class _Clauses:
    def __init__(self, transaction: Transaction, vocabulary: Vocabulary, zone: tzinfo) -> None:
        self._zone = zone
        self._now = transaction.now
        self._transaction = transaction
        self._vocabulary = vocabulary

    def of(self, term: Term) -> Clause:
        match term:
            case AllTerms(terms):
                return and_(*map(self.of, terms))
            case AnyTerm(terms):
                return or_(*map(self.of, terms))
            case NotTerm(inner):
                # A condition on a value that is missing is neither true nor false.
                return not_(func.coalesce(self.of(inner), false()))
            case WordTerm(text):
                return self._word(text)
            case ComparisonTerm(name, "!=", values):
                return self.of(NotTerm(ComparisonTerm(name, "=", values)))
            case ComparisonTerm(name, sign, values):
                column = self._vocabulary.column(name)
                if column is None:
                    return false()
                return or_(*(self._compare(column, sign, value) for value in values))

    def _word(self, text: QueryText) -> Clause:
        pattern = f"%{_pattern(text)}%"
        columns = (jobs.c.name, jobs.c.id, jobs.c.tags, jobs.c.group_name)
        return or_(*(_like(func.coalesce(column, ""), pattern) for column in columns))

    def _compare(self, column: Column, sign: str, value: QueryText) -> Clause:
        match column:
            case JobField():
                return self._field(column, sign, value)
            case SettingColumn(_, number):
                return self._setting(column, number, sign, value)
            case MetricColumn():
                return self._metric(column, sign, value)
            case LabelColumn(_, key):
                text = label_text(self._transaction, key)
                return self._text(text, column.name, sign, value)

    def _setting(self, column: SettingColumn, number: int, sign: str, value: QueryText) -> Clause:
        stored, amount = job_settings.c.value, number_in(value.text)
        here = (job_settings.c.job_pk == jobs.c.pk) & (job_settings.c.name_id == number)
        if sign in ORDERED:
            amount = required_number(value, column.name)
            return exists().where(here, _COMPARE[sign](job_settings.c.number, amount))
        if value.text == NULL and not value.is_quoted:
            return ~exists().where(here, stored != NULL)
        written = strict_json.dumps(value.text)[1:-1]
        alike = _like(stored, f'"{_pattern(replace(value, text=written))}"')
        if value.is_quoted:
            return exists().where(here, alike)
        if value.text == "*":
            return exists().where(here, stored != NULL)
        if value.text.lower() in ("true", "false"):
            alike = or_(stored == value.text.lower(), alike)
        if amount is not None:
            alike = or_(job_settings.c.number == amount, alike)
        return exists().where(here, alike)

    def _metric(self, column: MetricColumn, sign: str, value: QueryText) -> Clause:
        if column.id is None:
            required_number(value, column.name)
            return false()
        here = (job_metrics.c.job_pk == jobs.c.pk) & (job_metrics.c.name_id == column.id)
        if value.text == NULL and sign == "=":
            return ~exists().where(here)
        if value.text == "*" and sign == "=":
            return exists().where(here)
        amount = required_number(value, column.name)
        return exists().where(here, _COMPARE[sign](job_metrics.c[column.statistic], amount))

    def _field(self, field: JobField, sign: str, value: QueryText) -> Clause:
        expression = field.expression(self._now)
        if value.text == NULL and sign == "=" and not value.is_quoted:
            return self._is_missing(field)
        compare = _COMPARE[sign]
        if field.kind == "number":
            return compare(expression, required_number(value, field.name))
        if field.kind == "seconds":
            return compare(expression, seconds_in(value, field.name))
        if field.kind == "age":
            milliseconds = seconds_in(value, field.name) * 1000
            return compare(jobs.c.created_at * -1, milliseconds - self._now)
        if field.kind == "time":
            return self._time(expression, sign, value, field.name)
        has_star = value.is_prefix or "*" in value.text
        if field.kind == "choice" and not has_star and value.text not in field.choices:
            near = difflib.get_close_matches(value.text, field.choices, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"one of {_few(field)}"
            detail = f"{field.name} is never `{value.text[:40]}`; {hint}"
            raise invalid("wrong_value", detail, value.position, value.length)
        if field.kind == "tags":
            return self._text(expression, field.name, sign, value, '%"{}"%')
        if field.kind == "lineage":
            self._text(expression, field.name, sign, value)  # raises for `<`
            begin = value.text if value.text.startswith("job_") else f"job_{value.text}"
            return jobs.c.id.in_(_lineage_of(begin))
        if field.kind == "dataset":
            return self._reference(expression, field.name, sign, value)
        if field.kind == "op":
            if value.text in (NULL, "*") and not value.is_quoted:
                return self._text(expression, field.name, sign, value)
            alike = self._reference(OP_REFERENCE, field.name, sign, value)
            return exists().where(job_ops.c.job_pk == jobs.c.pk, alike)
        if field.kind == "id":
            kind = _ID_PREFIXES[field.name]
            begin = value.text if value.text.startswith((kind, "*")) else kind + value.text
            return self._text(expression, field.name, sign, replace(value, text=begin), "{}%")
        if field.kind == "agent":
            alike = self._text(attempts.c.agent, field.name, sign, value)
            return exists().where(attempts.c.job_pk == jobs.c.pk, alike)
        return self._text(expression, field.name, sign, value)

    def _reference(self, of: Any, name: str, sign: str, value: QueryText) -> Clause:
        """Compares NAME@VERSION with a value that may be the name alone."""
        exact = self._text(of, name, sign, value)
        return or_(exact, self._text(of, name, sign, value, "{}@%"))

    def _is_missing(self, field: JobField) -> Clause:
        if field.kind == "tags":
            return jobs.c.tags == "[]"
        if field.kind == "agent":
            return jobs.c.attempt == 0
        expression = field.expression(self._now)
        is_text = field.kind in ("text", "choice")
        return or_(expression.is_(None), expression == "") if is_text else expression.is_(None)

    def _time(self, column: Any, sign: str, value: QueryText, name: str) -> Clause:
        begin, end = map(calendar.stored, time_span(value, name, self._zone))
        if sign == "=":
            return and_(column >= begin, column <= max(begin, end - 1))
        if sign == ">":
            return and_(column >= end, column > begin)
        if sign == "<=":
            return and_(column <= max(begin, end - 1))
        return _COMPARE[sign](column, begin)

    def _text(
        self, expression: Any, name: str, sign: str, value: QueryText, form: str = "{}"
    ) -> Clause:
        if sign in ORDERED:
            detail = f"{name} is a text: `{sign}` compares numbers; use `:`"
            raise invalid("wrong_value", detail, value.position, value.length)
        if value.text == NULL and not value.is_quoted:
            return and_(expression.is_(None))
        if value.text == "*" and not value.is_quoted:
            return and_(expression.is_not(None), expression.not_in(("", "[]")))
        return _like(expression, form.format(_pattern(value)))


def _like(expression: Any, pattern: str) -> Clause:
    result: Clause = expression.ilike(pattern, escape="\\")
    return result


def _pattern(value: QueryText) -> str:
    """Returns the pattern of LIKE for a text in which a `*` that is not quoted stands for any."""
    escaped = _SPECIAL.sub(lambda match: "\\" + match.group(), value.text)
    if value.is_quoted:
        return escaped + "%" if value.is_prefix else escaped
    return escaped.replace("*", "%")


def _few(field: JobField) -> str:
    return ", ".join(field.choices[:12])


def _lineage_of(begin: str) -> CompoundSelect[Any]:
    """Returns a query of the ids that begin so, and of the jobs of their lineage.

    A job that was deleted is left out, and so is what only it connects.
    """
    is_named = jobs.c.id.startswith(begin[:LONGEST_ID], autoescape=True)
    return _reached(is_named, "descendants").union(_reached(is_named, "ancestors"))


def _reached(is_named: ColumnElement[bool], name: str) -> Select[Any]:
    """Returns a recursive query of the ids of jobs in one direction."""
    found = select(jobs.c.id, jobs.c.start_job).where(is_named).cte(name, recursive=True)
    if name == "descendants":
        link = jobs.c.start_job == found.c.id
    else:
        link = jobs.c.id == found.c.start_job
    found = found.union(select(jobs.c.id, jobs.c.start_job).join(found, link))
    return select(found.c.id)
