"""The ids of names of settings and metrics in the index."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import bindparam, exists, select
from sqlalchemy.dialects import postgresql, sqlite

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import (
    index_names,
    job_metrics,
    job_settings,
    jobs,
    projects,
)

SETTING, METRIC = "setting", "metric"

_ALL = select(index_names.c.name, index_names.c.id).where(
    index_names.c.kind == bindparam("of_kind")
)
_PROJECTS = select(projects.c.name)
_INSERT = {
    "sqlite": sqlite.insert(index_names).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(index_names).on_conflict_do_nothing(),
}


def read(transaction: Transaction, kind: str) -> dict[str, int]:
    """Returns the ids of all names of a kind."""
    rows = transaction.connection.execute(_ALL, {"of_kind": kind})
    return {row.name: row.id for row in rows}


def read_visible(transaction: Transaction, kind: str) -> dict[str, int]:
    """Returns the ids of the names of a kind that occur in jobs which the caller may read."""
    names = transaction.connection.execute(_PROJECTS).scalars()
    if all(transaction.access.sees(name) for name in names):  # without a look at each name
        return read(transaction, kind)
    table = job_settings if kind == SETTING else job_metrics
    occurs = exists().where(
        table.c.name_id == index_names.c.id,
        jobs.c.pk == table.c.job_pk,
        transaction.access.where(jobs),
    )
    rows = transaction.connection.execute(_ALL.where(occurs), {"of_kind": kind})
    return {row.name: row.id for row in rows}


def ensure(transaction: Transaction, kind: str, names: Iterable[str]) -> dict[str, int]:
    """Returns the ids of all names of a kind, after those of `names` were added."""
    known = transaction.index_names.get(kind) or read(transaction, kind)
    transaction.index_names[kind] = known
    new = [name for name in names if name not in known]
    if not new:
        return known
    statement = _INSERT[transaction.connection.dialect.name]
    rows = [{"kind": kind, "name": name} for name in sorted(new)]
    transaction.connection.execute(statement, rows)
    transaction.index_names[kind] = read(transaction, kind)
    return transaction.index_names[kind]
