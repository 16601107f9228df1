"""Reservations: agents of a pool that run only the jobs of one project for a while.

A reservation has a number of agents. Which ones follows from those that are present: the first by
name that no earlier reservation of the same time has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, insert, select

from ipulse_core import ids
from ipulse_core.errors import InvalidInput, NotFound, Problem
from ipulse_service.agents import pools, registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.db import people
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import reservations

LONGEST_MS = 366 * 86_400_000


class NoSuchReservation(NotFound):
    """There is no such reservation; `ipulse pool reservations` shows all that are not over."""


@dataclass(frozen=True)
class Reservation:
    """Agents of a pool for the jobs of a project. Times are milliseconds since 1970."""

    id: str
    pool: str
    project: str
    agents: int
    starts_at: int
    ends_at: int
    created_at: int = 0
    created_by: str = ""

    def overlaps(self, other: Reservation) -> bool:
        """Returns whether both are valid at some moment."""
        return self.starts_at < other.ends_at and other.starts_at < self.ends_at


_COLUMNS = tuple(reservations.c[name] for name in Reservation.__dataclass_fields__)
_ALL = select(*_COLUMNS).order_by(reservations.c.starts_at, reservations.c.id)


def read_all(transaction: Transaction) -> list[Reservation]:
    """Returns the reservations that are not over, in the order of their beginning."""
    query = _ALL.where(reservations.c.ends_at > transaction.now)
    return [Reservation(*row) for row in transaction.connection.execute(query)]


def of_agents(
    found: Sequence[Reservation], agents: Iterable[KnownAgent], now: int
) -> dict[str, list[Reservation]]:
    """Returns the reservations of each agent that has some, by its name."""
    present = sorted(
        (agent for agent in agents if agent.is_present(now) and not agent.is_draining),
        key=lambda agent: agent.name,
    )
    assigned: dict[str, list[Reservation]] = {}
    for reservation in found:
        usable = (
            agent.name
            for agent in present
            if agent.pool == reservation.pool
            and not any(map(reservation.overlaps, assigned.get(agent.name, ())))
        )
        for name, _ in zip(usable, range(reservation.agents), strict=False):
            assigned.setdefault(name, []).append(reservation)
    return assigned


def add(
    transaction: Transaction, pool: str, project: str, agents: int, starts_at: int, ends_at: int
) -> Reservation:
    """Reserves agents. For administrators.

    Raises NotPermitted, NoSuchPool, NotFound for the project, and InvalidInput for times in the
    past or in the wrong order, and for more agents than the pool has left then.
    """
    transaction.access.check_admin("a reservation")
    transaction.lock("reservations")
    now = transaction.now
    people.get_project(transaction, project)
    if not pools.get(transaction, pool).allows(project):
        detail = f"the project {project} may not use the pool {pool}: `ipulse pool edit {pool}`"
        raise InvalidInput([Problem("/project", "pool_not_allowed", detail)])
    detail = ""
    if ends_at <= max(now, starts_at):
        detail = "it must end after its beginning, and not in the past"
    elif ends_at - starts_at > LONGEST_MS:
        detail = "a reservation is at most a year long"
    if detail:
        raise InvalidInput([Problem("/ends_at", "wrong_time", detail)])
    access = transaction.access
    number = ids.new_id(ids.RESERVATION)
    made = Reservation(number, pool, project, agents, starts_at, ends_at, now, access.name)
    others = [each for each in read_all(transaction) if each.pool == pool and each.overlaps(made)]
    members = sum(agent.pool == pool for agent in registry.known(transaction))
    reserved = _most_at_once(others, made)
    if agents + reserved > members:
        detail = f"the pool {pool} has {members} agents, of which {reserved} are reserved then"
        raise InvalidInput([Problem("/agents", "too_many", detail)])
    transaction.connection.execute(insert(reservations), vars(made))
    detail = f"{agents} agents of the pool {pool}"
    transaction.audit("pool.reserve", made.id, project, detail)
    return made


def remove(transaction: Transaction, reservation_id: str) -> None:
    """Ends a reservation. For administrators. Raises NotPermitted, NoSuchReservation."""
    transaction.access.check_admin("a reservation")
    statement = delete(reservations).where(reservations.c.id == reservation_id)
    if not transaction.connection.execute(statement).rowcount:
        raise NoSuchReservation()
    transaction.audit("pool.release", reservation_id)


def forget_old(transaction: Transaction) -> None:
    """Deletes reservations that have been over for a week."""
    since = transaction.now - registry.KNOWN_MS
    transaction.connection.execute(delete(reservations).where(reservations.c.ends_at < since))


def _most_at_once(others: Sequence[Reservation], during: Reservation) -> int:
    """Returns how many agents others have reserved at most at a moment of a reservation."""
    moments = {during.starts_at, *(max(each.starts_at, during.starts_at) for each in others)}
    return max(
        sum(each.agents for each in others if each.starts_at <= moment < each.ends_at)
        for moment in moments
    )
