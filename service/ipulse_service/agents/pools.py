"""Pools: named sets of agents, and the projects that may use them.

Every agent is in one pool: the one that names it, else the first by name whose labels it has, else
the pool `default`, which exists even without a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import delete, insert, select, update

from ipulse_core import strict_json
from ipulse_core.errors import Conflict, InvalidInput, NotFound, Problem
from ipulse_core.limits import DEFAULT_POOL
from ipulse_service.db import people
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import ENDED, HIDDEN, jobs, pools


class NoSuchPool(NotFound):
    """There is no such pool; `ipulse pool list` shows all."""


class PoolInUse(Conflict):
    """The name is in use, jobs ask for the pool, or it is the default one."""

    code = "pool_in_use"


class PoolNotAllowed(InvalidInput):
    """The job may not run in the pool that its spec names."""

    code = "pool_not_allowed"


class Preemption(StrEnum):
    """Which jobs may make others stop at their next checkpoint."""

    NEVER = "never"
    PRIORITY = "priority"  # those of a higher priority
    SHARE = "share"  # these, and those of a project with fewer devices than its share


@dataclass(frozen=True)
class Pool:
    """A set of agents. Times are milliseconds since 1970."""

    name: str
    description: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)  # an agent with all of them is in it
    agents: tuple[str, ...] = ()  # names, or patterns such as pod-*, with any labels
    projects: tuple[str, ...] | None = None  # that may use it; None: all
    preemption: Preemption = Preemption.NEVER
    created_at: int = 0
    created_by: str = ""

    def allows(self, project: str) -> bool:
        """Returns whether jobs of a project may run in it."""
        return self.projects is None or project in self.projects

    def names(self, agent: str) -> bool:
        """Returns whether it names an agent."""
        return any(fnmatchcase(agent, pattern) for pattern in self.agents)

    def has_labels_of(self, labels: Mapping[str, str]) -> bool:
        """Returns whether an agent with these labels has those of the pool, if it has any."""
        return bool(self.labels) and self.labels.items() <= labels.items()


Pools = dict[str, Pool]
_ALL = select(pools).order_by(pools.c.name)


def read_all(transaction: Transaction) -> Pools:
    """Returns all pools by name, read once in a transaction."""
    found: Pools | None = transaction.pools
    if found is None:
        rows = transaction.connection.execute(_ALL)
        stored = {row.name: _pool(row) for row in rows}
        stored.setdefault(DEFAULT_POOL, Pool(DEFAULT_POOL))
        found = transaction.pools = dict(sorted(stored.items()))
    return found


def pool_of(transaction: Transaction, agent: str, labels: Mapping[str, str]) -> str:
    """Returns the name of the pool of an agent."""
    known = read_all(transaction).values()
    named = (pool.name for pool in known if pool.names(agent))
    labelled = (pool.name for pool in known if pool.has_labels_of(labels))
    return next(named, None) or next(labelled, None) or DEFAULT_POOL


def get(transaction: Transaction, name: str) -> Pool:
    """Returns a pool. Raises NoSuchPool."""
    try:
        return read_all(transaction)[name]
    except KeyError:
        raise NoSuchPool() from None


def check_use(transaction: Transaction, name: str, project: str) -> None:
    """Raises PoolNotAllowed if jobs of a project may not run in a pool, or there is none."""
    known = read_all(transaction)
    if name in known and known[name].allows(project):
        return
    usable = ", ".join(pool.name for pool in known.values() if pool.allows(project)) or "none"
    what = f"there is no pool {name!r}"
    if name in known:
        what = f"the project {project} may not use the pool {name}"
    detail = f"{what}: set device.pool to one that it may use ({usable}), or ask an administrator"
    raise PoolNotAllowed([Problem("/device/pool", "pool_not_allowed", detail)])


def add(transaction: Transaction, pool: Pool) -> None:
    """Adds a pool. For administrators. Raises NotPermitted, PoolInUse, and what `change` raises."""
    transaction.access.check_admin("a pool")
    transaction.lock("pools")
    if pool.name in read_all(transaction):
        raise PoolInUse("a pool of this name exists")
    _check(transaction, pool)
    made = replace(pool, created_at=transaction.now, created_by=transaction.access.name)
    transaction.connection.execute(insert(pools), _row(made))
    _changed(transaction, "pool.create", pool.name)


def change(transaction: Transaction, name: str, changes: Mapping[str, Any]) -> None:
    """Changes fields of a pool. For administrators.

    Raises NoSuchPool, NotPermitted, and InvalidInput for an agent of another pool, for labels of
    the default pool, and for a project that does not exist.
    """
    transaction.access.check_admin("a pool")
    transaction.lock("pools")
    changed = replace(get(transaction, name), **changes)
    _check(transaction, changed)
    row = _row(changed)
    statement = update(pools).where(pools.c.name == name).values(row)
    if not transaction.connection.execute(statement).rowcount:
        transaction.connection.execute(insert(pools), row)
    _changed(transaction, "pool.edit", name, ", ".join(sorted(changes)))


def remove(transaction: Transaction, name: str) -> None:
    """Removes a pool: its agents are in others then. For administrators.

    Raises NoSuchPool, NotPermitted, and PoolInUse for the default pool, and while jobs that have
    not ended ask for it.
    """
    transaction.access.check_admin("a pool")
    transaction.lock("pools")
    get(transaction, name)
    if name == DEFAULT_POOL:
        raise PoolInUse("the default pool stays: change it instead (`ipulse pool edit default`)")
    query = select(jobs.c.id).where(jobs.c.pool == name, jobs.c.state.not_in((*ENDED, *HIDDEN)))
    first = transaction.connection.execute(query.limit(1)).scalar_one_or_none()
    if first is not None:
        raise PoolInUse("jobs that have not ended ask for this pool: wait for them or cancel them")
    transaction.connection.execute(delete(pools).where(pools.c.name == name))
    _changed(transaction, "pool.delete", name)


def _check(transaction: Transaction, pool: Pool) -> None:
    if pool.name == DEFAULT_POOL and (pool.labels or pool.agents):
        detail = "the default pool has all agents that no other pool has: it needs none of its own"
        raise InvalidInput([Problem("/labels" if pool.labels else "/agents", "default", detail)])
    problems = [
        Problem(f"/agents/{index}", "in_another_pool", f"the pool {other.name} has {agent}")
        for index, agent in enumerate(pool.agents)
        for other in read_all(transaction).values()
        if other.name != pool.name and agent in other.agents
    ]
    known = {project.name for project in people.visible_projects(transaction)}
    problems += [
        Problem(f"/projects/{index}", "unknown", f"there is no project {project!r}")
        for index, project in enumerate(pool.projects or ())
        if project not in known
    ]
    if problems:
        raise InvalidInput(problems)


def _changed(transaction: Transaction, action: str, name: str, detail: str = "") -> None:
    transaction.pools = None
    transaction.admitted.clear()
    transaction.audit(action, name, None, detail)


def names(values: Iterable[str]) -> tuple[str, ...]:
    """Returns names in order, each once."""
    return tuple(sorted(set(values)))


def _row(pool: Pool) -> dict[str, Any]:
    return {
        **asdict(pool),
        "labels": strict_json.dumps(dict(pool.labels)),
        "agents": strict_json.dumps(list(pool.agents)),
        "projects": None if pool.projects is None else strict_json.dumps(list(pool.projects)),
        "preemption": pool.preemption.value,
    }


def _pool(row: Any) -> Pool:
    return Pool(
        name=row.name,
        description=row.description,
        labels=json.loads(row.labels),
        agents=tuple(json.loads(row.agents)),
        projects=None if row.projects is None else tuple(json.loads(row.projects)),
        preemption=Preemption(row.preemption),
        created_at=row.created_at,
        created_by=row.created_by,
    )
