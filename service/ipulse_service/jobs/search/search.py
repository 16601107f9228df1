"""Searches jobs: pages of a filtered and sorted list, and the number of all matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.search.columns import SortKey, order_by
from ipulse_service.jobs.search.filters import JobFilter


@dataclass(frozen=True)
class SearchPage:
    """Some of the jobs that a search finds."""

    jobs: list[JobRow]
    ceiling: int  # the greatest key of a job when the first page was read
    has_more: bool


def page(
    transaction: Transaction,
    wanted: JobFilter,
    keys: Sequence[SortKey],
    skip: int,
    limit: int,
    ceiling: int | None = None,
) -> SearchPage:
    """Returns the jobs of a sorted search after `skip` others.

    Jobs with keys above `ceiling` are left out, so that new jobs do not shift later pages.
    """
    if ceiling is None:
        newest = transaction.connection.execute(select(func.max(jobs.c.pk))).scalar_one()
        ceiling = newest or 0
    # Sorted are keys, which are small, and not whole rows.
    query = (
        select(jobs.c.pk)
        .where(*wanted.clauses(transaction), jobs.c.pk <= ceiling)
        .order_by(*order_by(transaction, keys))
        .offset(skip)
        .limit(limit + 1)
    )
    pks = list(transaction.connection.execute(query).scalars())
    rows = by_pks(transaction, pks[:limit])
    return SearchPage(rows, ceiling, len(pks) > limit)


def by_pks(transaction: Transaction, pks: Sequence[int]) -> list[JobRow]:
    """Returns jobs by their keys, in that order."""
    if not pks:
        return []
    found = transaction.connection.execute(select(*COLUMNS).where(jobs.c.pk.in_(pks)))
    rows = {row.pk: JobRow.of(row) for row in found}
    return [rows[pk] for pk in pks if pk in rows]


def count(transaction: Transaction, wanted: JobFilter) -> int:
    """Returns the number of jobs that a search finds."""
    query = select(func.count()).select_from(jobs).where(*wanted.clauses(transaction))
    return int(transaction.connection.execute(query).scalar_one())
