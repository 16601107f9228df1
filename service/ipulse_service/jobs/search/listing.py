"""Pages of job lists, newest first."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Select, bindparam, select

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.search.filters import JobFilter

EXAMINED = 10_000  # specs that one page may examine


def page(
    transaction: Transaction, before: int | None, limit: int, wanted: JobFilter
) -> tuple[list[JobRow], int | None]:
    """Returns at most `limit` jobs that pass a filter, newest first and older than `before`.

    The second value is `before` of the next page, None after the last. A page examines the specs
    of at most EXAMINED jobs, so that it may be short.
    """
    query = _newest(wanted.only_indexed(), before is not None)
    query = query.where(transaction.access.where(jobs), *wanted.other_clauses(transaction))
    end = None
    if wanted.looks_inside:
        end = _end_of_examined(transaction, before, wanted)
        if end is not None:
            query = query.where(jobs.c.pk > end)
    bounds = {"at_most": limit + 1, "before": before}
    found = [JobRow.of(row) for row in transaction.connection.execute(query, bounds)]
    if len(found) > limit:
        return found[:limit], found[limit - 1].pk
    return found, None if end is None else end + 1


# What SQLAlchemy does to make a statement costs more than the database takes for it. Only what an
# index finds is remembered: of values inside a spec, True and 1 would be the same to a cache.
@lru_cache(64)
def _newest(indexed: JobFilter, goes_on: bool) -> Select[Any]:
    query = select(*COLUMNS).where(*indexed.indexed_clauses())
    if goes_on:
        query = query.where(jobs.c.pk < bindparam("before"))
    return query.order_by(jobs.c.pk.desc()).limit(bindparam("at_most"))


def _end_of_examined(transaction: Transaction, before: int | None, wanted: JobFilter) -> int | None:
    """Returns the newest job that a page may not examine, None if it may examine all."""
    query = _newest(wanted.only_indexed(), before is not None).offset(EXAMINED)
    query = query.where(transaction.access.where(jobs))
    found = transaction.connection.execute(query, {"at_most": 1, "before": before}).first()
    return None if found is None else int(found.pk)
