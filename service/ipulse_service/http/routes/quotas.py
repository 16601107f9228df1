"""Routes of quotas and of used device time."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from ipulse_core.errors import NotFound
from ipulse_service.db.engine import Transaction
from ipulse_service.http import problems
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.routes.people import ProjectName, UserName
from ipulse_service.http.schemas.quotas import (
    DeviceUsage,
    QuotaChange,
    QuotaInfo,
    QuotaList,
    UserQuotaChange,
)
from ipulse_service.quotas import store, usage
from ipulse_service.quotas.store import Limits, Scope

_CHANGE = problems.documented(404, 409, 413, 415, 422)
Month = Annotated[str | None, Query(pattern="^[0-9]{4}-(0[1-9]|1[0-2])$", description="In UTC.")]
Column = Literal["project", "user", "device", "month"]

router = APIRouter(prefix="/v1", tags=["people"], route_class=JSONRoute)


@router.get(
    "/projects/{project}/quotas",
    summary="List the quotas of a project",
    response_description="The quotas.",
    responses=problems.documented(404),
)
def list_quotas(project: ProjectName, state: State) -> QuotaList:
    """Returns the quotas of a project and of its members there, and how much of each is used."""
    with state.database.read() as transaction:
        return _shown(transaction, store.of_project(transaction, project))


@router.patch(
    "/projects/{project}/quotas",
    summary="Change the quotas of a project",
    response_description="The quotas.",
    responses=_CHANGE,
)
def change_quotas(project: ProjectName, request: QuotaChange, state: State) -> QuotaList:
    """Sets or removes quotas of a project, or of a person in it.

    Those of a project are set by administrators, those of a member also by owners of the project.
    """
    scope = Scope(project, request.user or store.ANY)
    with state.database.write() as transaction:
        store.change(transaction, scope, request.limits.given())
        return _shown(transaction, store.of_project(transaction, project))


@router.get(
    "/users/{user}/quotas",
    summary="List the quotas of a person",
    response_description="The quotas.",
    responses=problems.documented(404),
)
def list_user_quotas(user: UserName, state: State, caller: CurrentCaller) -> QuotaList:
    """Returns the quotas of a person in all projects together: of the caller, or of anybody.

    Those of others are shown to administrators.
    """
    if user != caller.name and not caller.access.is_admin:
        raise NotFound("there is no such user; `ipulse user list` shows all")
    with state.database.read() as transaction:
        return _shown(transaction, store.of_user(transaction, user))


@router.patch(
    "/users/{user}/quotas",
    summary="Change the quotas of a person",
    response_description="The quotas.",
    responses=_CHANGE,
)
def change_user_quotas(user: UserName, request: UserQuotaChange, state: State) -> QuotaList:
    """Sets or removes quotas of a person in all projects together. For administrators."""
    with state.database.write() as transaction:
        store.change(transaction, Scope(principal=user), request.limits.given())
        return _shown(transaction, store.of_user(transaction, user))


@router.get("/usage", summary="Show used device time", response_description="The device time.")
def get_usage(
    state: State,
    by: Annotated[
        list[Column] | None,
        Query(max_length=4, description="Add up by these; by default by all four."),
    ] = None,
    first: Month = None,
    last: Month = None,
) -> DeviceUsage:
    """Returns device hours by project, person, kind of device and month, where the caller reads.

    They are counted when an attempt ends, in the month of its end, and stay when a job is deleted.
    """
    with state.database.read() as transaction:
        used = usage.read(transaction, first, last)
    return DeviceUsage.of(used, by or ("project", "user", "device", "month"))


def _shown(transaction: Transaction, limits: Limits) -> QuotaList:
    return QuotaList(quotas=QuotaInfo.of(store.with_used(transaction, limits)))
