"""Names of jobs that continue others: base+2, base+3 and so on, so that each has its own."""

from __future__ import annotations

import re

from sqlalchemy import select

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs

_NUMBER = re.compile(r"\+([0-9]{1,9})\Z")
_LONGEST = 128  # characters of a name


def base_of(name: str) -> str:
    """Returns a name without the number of a child."""
    return _NUMBER.sub("", name) or name


def next_name(transaction: Transaction, parent: str, name: str) -> str | None:
    """Returns the name of a job that continues `parent`; None if `name` is one of its own."""
    base = base_of(parent)
    if base_of(name) != base:
        return None
    base = base[: _LONGEST - 10]
    transaction.lock(f"child-name/{base}")
    query = select(jobs.c.name).where(jobs.c.name.startswith(f"{base}+", autoescape=True))
    query = query.where(transaction.access.where(jobs))
    taken = [1]
    for found in transaction.connection.execute(query).scalars():
        match = _NUMBER.fullmatch(found[len(base) :])
        taken += [int(match[1])] if match else []
    return f"{base}+{max(taken) + 1}"
