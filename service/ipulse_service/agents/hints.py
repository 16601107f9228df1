"""Hints for agents that poll over HTTPS: is there a job that they could claim?"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Select, bindparam, func, select

from ipulse_core.states import JobState
from ipulse_service.agents import drains
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents, jobs

TOPIC = drains.TOPIC

_COLUMNS = (jobs.c.pk, jobs.c.id, jobs.c.version)
_QUEUED = jobs.c.state == JobState.QUEUED.value
_OF_KIND = select(*_COLUMNS).where(_QUEUED, jobs.c.device == bindparam("of_kind")).limit(1)
_OF_ANY = select(*_COLUMNS).where(_QUEUED).limit(1)
_DRAINS = select(func.max(agents.c.draining_at), func.count(agents.c.draining_at))


@dataclass(frozen=True)
class WorkHint:
    """A job that an agent may claim. `tag` changes whenever there may be another."""

    job_id: str | None  # one that it may claim; the claim decides which job it gets
    draining: bool
    tag: str


def for_agent(transaction: Transaction, agent: str, kinds: Collection[str]) -> WorkHint:
    """Returns a hint for an agent that can use these kinds of devices now."""
    is_draining = drains.of_agent(transaction, agent) is not None
    seen = [str(is_draining)]
    job_id = None
    for kind in kinds:
        ends = _ends(transaction, _OF_KIND, {"of_kind": kind})
        seen += [kind, *(f"{pk}.{version}" for pk, _, version in ends)]
        if ends and job_id is None:
            job_id = ends[0][1]
    tag = hashlib.sha256("/".join(seen).encode()).hexdigest()[:16]
    return WorkHint(None if is_draining else job_id, is_draining, tag)


def overview(transaction: Transaction) -> tuple[object, ...]:
    """Returns a value that changes when a replica queues a job or starts or ends a drain."""
    drains_of_all = transaction.connection.execute(_DRAINS).one()
    return (*_ends(transaction, _OF_ANY, {}), *drains_of_all)


def _ends(
    transaction: Transaction, query: Select[tuple[int, str, int]], values: dict[str, str]
) -> list[tuple[int, str, int]]:
    """Returns the oldest and the newest queued job; each is one look-up in an index."""
    rows = []
    for order in (jobs.c.pk, jobs.c.pk.desc()):
        row = transaction.connection.execute(query.order_by(order), values).one_or_none()
        rows += [] if row is None else [(row.pk, row.id, row.version)]
    return rows
