"""The jobs that a job started from, and those that started from it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, Select, select

from ipulse_service.db.tables import jobs

LONGEST_ID = 64


def ids_of(begin: str) -> CompoundSelect[Any]:
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
