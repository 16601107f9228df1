"""Pools of agents as the API takes and returns them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from ipulse.models import LabelSelector, ListOf, StrictModel
from ipulse.models.fields import Text
from ipulse_core.limits import MAX_WHERE, POOL
from ipulse_service.agents.pools import Pool, Preemption, names
from ipulse_service.agents.reservations import Reservation
from ipulse_service.db.access import Access
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.dependencies import UTCTime
from ipulse_service.http.schemas.base import Timestamp, example
from ipulse_service.http.schemas.people import Description

MAX_NAMES = 1000
ABOUT_PREEMPTION = (
    "Which jobs may make others of the pool stop at their next checkpoint and go back to the "
    "queue. never: none; priority: those of a higher priority; share: these, and those of a "
    "project that uses fewer devices of the pool than its share."
)

Names = Annotated[
    ListOf[Annotated[Text, Field(min_length=1, max_length=128)]], Field(max_length=MAX_NAMES)
]
Labels = Annotated[LabelSelector, Field(max_length=MAX_WHERE)]

_CONTENT: dict[str, Any] = {
    "description": "Machines in room 2",
    "labels": {"room": "2"},
    "agents": ["pod-*"],
    "projects": ["vision"],
    "preemption": "priority",
}
_POOL: dict[str, Any] = {
    "name": "lab",
    **_CONTENT,
    "members": ["pod-1", "pod-2"],
    "created_at": "2026-01-31T12:00:00.000Z",
    "created_by": "owner",
}


class PoolChange(StrictModel):
    """A change of a pool; what is left out stays."""

    model_config = example(**_CONTENT)

    description: Description = ""
    labels: Labels = Field(default={}, description="An agent that has all of them is in it.")
    agents: Names = Field(
        default=(),
        description="Names of agents, or patterns such as pod-*, that are in it in any case.",
    )
    projects: Names | None = Field(
        default=None, description="Only jobs of these may run in it; null: of all projects."
    )
    preemption: Preemption = Field(
        default=Preemption.NEVER, strict=False, description=ABOUT_PREEMPTION
    )

    def given(self) -> dict[str, Any]:
        """Returns the fields that the request names."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        for name in ("agents", "projects"):
            if found.get(name) is not None:
                found[name] = names(found[name])
        return found


class PoolRequest(PoolChange):
    """A new pool."""

    model_config = example(name="lab", **_CONTENT)

    name: str = Field(pattern=POOL, description="Lower case; it never changes.", examples=["lab"])

    def pool(self) -> Pool:
        """Returns the pool."""
        return Pool(**self.given())


class PoolInfo(BaseModel):
    """A pool of agents."""

    model_config = example(**_POOL)

    name: str
    description: str
    labels: dict[str, str] = Field(description="An agent that has all of them is in it.")
    agents: list[str] = Field(description="Names and patterns of agents that are in it.")
    projects: list[str] | None = Field(
        description="Only jobs of these may run in it, as far as the caller may read them; null: "
        "of all projects."
    )
    preemption: Preemption = Field(description=ABOUT_PREEMPTION)
    members: list[str] = Field(description="The agents that are in it now.")
    created_at: Timestamp | None
    created_by: str

    @classmethod
    def of(cls, pool: Pool, members: Iterable[str], access: Access) -> Self:
        """Returns the model of a pool with these agents, as a caller sees it."""
        projects = pool.projects
        return cls(
            name=pool.name,
            description=pool.description,
            labels=dict(pool.labels),
            agents=list(pool.agents),
            projects=None if projects is None else [*filter(access.sees, projects)],
            preemption=pool.preemption,
            members=list(members),
            created_at=rfc3339(pool.created_at or None),
            created_by=pool.created_by,
        )


class PoolList(BaseModel):
    """All pools by name."""

    model_config = example(pools=[_POOL])

    pools: list[PoolInfo]


_RESERVED: dict[str, Any] = {
    "project": "vision",
    "agents": 2,
    "starts_at": "2026-01-31T12:00:00.000Z",
    "ends_at": "2026-01-31T18:00:00.000Z",
}
_RESERVATION: dict[str, Any] = {
    "id": "rsv_0b5c2e6f7a8d9c1e2f3a4b5c",
    "pool": "lab",
    **_RESERVED,
    "created_by": "owner",
}


class ReservationRequest(StrictModel):
    """Agents of a pool that are to run only the jobs of one project for a while."""

    model_config = example(**_RESERVED)

    project: Text = Field(max_length=64)
    agents: int = Field(ge=1, le=10_000, description="How many.")
    starts_at: UTCTime | None = Field(default=None, strict=False, description="Null: now.")
    ends_at: UTCTime = Field(strict=False)


class ReservationInfo(BaseModel):
    """Agents of a pool that run only the jobs of one project for a while."""

    model_config = example(**_RESERVATION)

    id: str
    pool: str
    project: str | None = Field(description="Null for one that the caller may not read.")
    agents: int
    starts_at: Timestamp | None
    ends_at: Timestamp | None
    created_by: str

    @classmethod
    def of(cls, reservation: Reservation, access: Access) -> Self:
        """Returns the model of a reservation as a caller sees it."""
        return cls(
            id=reservation.id,
            pool=reservation.pool,
            project=reservation.project if access.sees(reservation.project) else None,
            agents=reservation.agents,
            starts_at=rfc3339(reservation.starts_at),
            ends_at=rfc3339(reservation.ends_at),
            created_by=reservation.created_by,
        )


class ReservationList(BaseModel):
    """The reservations that are not over, in the order of their beginning."""

    model_config = example(reservations=[_RESERVATION])

    reservations: list[ReservationInfo]
