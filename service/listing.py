"""Lists of jobs: the newest first, a page at a time."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, select

from .database import Transaction
from .filters import JobFilter
from .job import COLUMNS, Job
from .tables import jobs

EXAMINED = 10_000  # specs that one page of a list may open

# Made once: what SQLAlchemy does to make a statement costs more than the database takes for it.
_NEWEST: Select[Any] = select(*COLUMNS).order_by(jobs.c.pk.desc()).limit(bindparam("at_most"))
_OLDER = _NEWEST.where(jobs.c.pk < bindparam("before"))


def page(
    transaction: Transaction, before: int | None, limit: int, wanted: JobFilter
) -> tuple[list[Job], int | None]:
    """At most `limit` jobs that pass a filter, newest first, older than `before`; and what to
    pass as `before` for the next page, None after the last.

    No more than EXAMINED jobs are opened to look into their specs, so that a page may be short.
    """
    clauses = list(wanted.indexed_clauses())
    end = None
    if wanted.looks_inside:
        end = _end_of_examined(transaction, before, wanted)
        if end is not None:
            clauses.append(jobs.c.pk > end)
        clauses += wanted.clauses_inside(transaction.connection.dialect.name)
    query = (_NEWEST if before is None else _OLDER).where(*clauses)
    bounds = {"at_most": limit + 1, "before": before}
    found = [Job.of(row) for row in transaction.connection.execute(query, bounds)]
    if len(found) > limit:
        return found[:limit], found[limit - 1].pk
    return found, None if end is None else end + 1


def _end_of_examined(transaction: Transaction, before: int | None, wanted: JobFilter) -> int | None:
    """The newest job that a page may not open; None when it may open all that are left."""
    older = [] if before is None else [jobs.c.pk < before]
    query = select(jobs.c.pk).where(*older, *wanted.indexed_clauses()).order_by(jobs.c.pk.desc())
    last = transaction.connection.execute(query.offset(EXAMINED).limit(1)).scalar_one_or_none()
    return None if last is None else int(last)
