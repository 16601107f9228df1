"""Routes of pools and reservations: which agents they have, and who may use them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from ipulse_service.agents import pools, registry, reservations
from ipulse_service.db import calendar
from ipulse_service.db.engine import Transaction
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.agents.pools import (
    PoolChange,
    PoolInfo,
    PoolList,
    PoolRequest,
    ReservationInfo,
    ReservationList,
    ReservationRequest,
)

PoolName = Annotated[str, Path(max_length=64, description="The pool's name.")]

router = APIRouter(prefix="/v1", tags=["agents"], route_class=JSONRoute)


@router.get("/pools", summary="List pools", response_description="The pools.")
def list_pools(state: State) -> PoolList:
    """Returns all pools by name, and the agents that are in each."""
    with state.database.read() as transaction:
        return PoolList(pools=[_shown(transaction, name) for name in pools.read_all(transaction)])


@router.post(
    "/pools",
    status_code=201,
    summary="Create a pool",
    response_description="The pool.",
    responses=problems.documented(409, 413, 415, 422),
)
@open_to("owner")
def create_pool(request: PoolRequest, state: State) -> PoolInfo:
    """Creates a pool. For administrators."""
    with state.database.write() as transaction:
        pools.add(transaction, request.pool())
        return _shown(transaction, request.name)


@router.patch(
    "/pools/{pool}",
    summary="Change a pool",
    response_description="The pool.",
    responses=problems.documented(404, 413, 415, 422),
)
@open_to("owner")
def change_pool(pool: PoolName, request: PoolChange, state: State) -> PoolInfo:
    """Changes which agents a pool has, or who may use it. For administrators.

    Jobs that run go on; queued jobs of projects that may not use it any more wait.
    """
    with state.database.write() as transaction:
        pools.change(transaction, pool, request.given())
        return _shown(transaction, pool)


@router.delete(
    "/pools/{pool}",
    status_code=204,
    summary="Delete a pool",
    response_description="The pool is deleted.",
    responses=problems.documented(404, 409),
)
@open_to("owner")
def delete_pool(pool: PoolName, state: State) -> None:
    """Deletes a pool for which no job asks; its agents are in other pools then."""
    with state.database.write() as transaction:
        pools.remove(transaction, pool)


@router.get("/reservations", summary="List reservations", response_description="The reservations.")
def list_reservations(state: State, caller: CurrentCaller) -> ReservationList:
    """Returns the reservations that are not over, in the order of their beginning."""
    with state.database.read() as transaction:
        found = reservations.read_all(transaction)
    return ReservationList(reservations=[ReservationInfo.of(each, caller.access) for each in found])


@router.post(
    "/pools/{pool}/reservations",
    status_code=201,
    summary="Reserve agents",
    response_description="The reservation.",
    responses=problems.documented(404, 413, 415, 422),
)
@open_to("owner")
def reserve_agents(
    pool: PoolName, request: ReservationRequest, state: State, caller: CurrentCaller
) -> ReservationInfo:
    """Lets agents of a pool run only the jobs of one project for a while. For administrators.

    Other jobs start on them only if they are expected to end before. Those that run go on.
    """
    begin = None if request.starts_at is None else calendar.stored_moment(request.starts_at)
    with state.database.write() as transaction:
        made = reservations.add(
            transaction,
            pool,
            request.project,
            request.agents,
            transaction.now if begin is None else begin,
            calendar.stored_moment(request.ends_at),
        )
    return ReservationInfo.of(made, caller.access)


@router.delete(
    "/reservations/{reservation_id}",
    status_code=204,
    summary="End a reservation",
    response_description="The reservation is over.",
    responses=problems.documented(404),
)
@open_to("owner")
def end_reservation(
    reservation_id: Annotated[str, Path(max_length=64, description="The reservation's id.")],
    state: State,
) -> None:
    """Ends a reservation at once. For administrators."""
    with state.database.write() as transaction:
        reservations.remove(transaction, reservation_id)


def _shown(transaction: Transaction, name: str) -> PoolInfo:
    members = [agent.name for agent in registry.known(transaction) if agent.pool == name]
    return PoolInfo.of(pools.get(transaction, name), members, transaction.access)
