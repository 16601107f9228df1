"""Routes of projects, their members, and people."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from ipulse_service.db import people
from ipulse_service.db.access import ProjectRole, Scope
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.people import (
    CallerInfo,
    MemberRequest,
    ProjectChange,
    ProjectDetail,
    ProjectInfo,
    ProjectList,
    ProjectRequest,
    UserChange,
    UserInfo,
    UserList,
    UserRequest,
)
from ipulse_service.http.state import AppState

ProjectName = Annotated[str, Path(max_length=64, description="The project's name.")]
UserName = Annotated[
    str, Path(max_length=64, description="The name of a person or a service account.")
]

_CHANGE = problems.documented(404, 409, 413, 415, 422)

router = APIRouter(prefix="/v1", tags=["people"], route_class=JSONRoute)


@router.get("/me", summary="Show what the caller may do", response_description="The caller.")
def get_caller_info(state: State, caller: CurrentCaller) -> CallerInfo:
    """Returns the name of the caller, its roles in projects, and the scopes of its token."""
    access = caller.access
    with state.database.read() as transaction:
        roles = {
            project.name: ProjectRole.OWNER if access.is_admin else access.roles[project.name]
            for project in people.visible_projects(transaction)
        }
    return CallerInfo(
        name=access.name,
        is_admin=access.is_admin,
        roles=roles,
        scopes=[scope for scope in Scope if scope in access.scopes],
        submit_code=caller.access.submits_code,
    )


@router.get("/projects", summary="List projects", response_description="The projects.")
def list_projects(state: State, caller: CurrentCaller) -> ProjectList:
    """Returns the projects that the caller may read, by name."""
    with state.database.read() as transaction:
        found = people.visible_projects(transaction)
    return ProjectList(projects=[ProjectInfo.of(each, caller.access) for each in found])


@router.post(
    "/projects",
    status_code=201,
    summary="Create a project",
    response_description="The project.",
    responses=problems.documented(409, 413, 415, 422),
)
@open_to("owner")
def create_project(request: ProjectRequest, state: State, caller: CurrentCaller) -> ProjectDetail:
    """Creates a project, of which the caller becomes an owner. For administrators."""
    with state.database.write() as transaction:
        people.add_project(transaction, request.name, request.description, request.is_public)
    return _project(state, caller, request.name)


@router.get(
    "/projects/{project}",
    summary="Get a project",
    response_description="The project.",
    responses=problems.documented(404),
)
def get_project(project: ProjectName, state: State, caller: CurrentCaller) -> ProjectDetail:
    """Returns a project with its members."""
    return _project(state, caller, project)


@router.patch(
    "/projects/{project}",
    summary="Change a project",
    response_description="The project.",
    responses=_CHANGE,
)
def change_project(
    project: ProjectName, request: ProjectChange, state: State, caller: CurrentCaller
) -> ProjectDetail:
    """Changes the description of a project, or whether everybody may read it."""
    with state.database.write() as transaction:
        people.change_project(transaction, project, request.description, request.is_public)
    return _project(state, caller, project)


@router.put(
    "/projects/{project}/members/{user}",
    status_code=204,
    summary="Set the role of a member",
    response_description="The member has the role from now on.",
    responses=_CHANGE,
)
def set_member(project: ProjectName, user: UserName, request: MemberRequest, state: State) -> None:
    """Adds a member to a project, or changes the role of one. For owners of the project."""
    with state.database.write() as transaction:
        people.set_member(transaction, project, user, request.role)


@router.delete(
    "/projects/{project}/members/{user}",
    status_code=204,
    summary="Remove a member",
    response_description="The member is removed.",
    responses=problems.documented(404, 409),
)
def remove_member(project: ProjectName, user: UserName, state: State) -> None:
    """Removes a member from a project. What it owns there stays."""
    with state.database.write() as transaction:
        people.remove_member(transaction, project, user)


@router.get("/users", summary="List people", response_description="People and service accounts.")
@open_to("owner")
def list_users(state: State) -> UserList:
    """Returns all people and service accounts, by name. For administrators."""
    with state.database.read() as transaction:
        found = people.all_principals(transaction)
        users = [UserInfo.of(each, people.roles_of(transaction, each.name)) for each in found]
    return UserList(users=users)


@router.post(
    "/users",
    status_code=201,
    summary="Add a person",
    response_description="The person.",
    responses=problems.documented(409, 413, 415, 422),
)
@open_to("owner")
def create_user(request: UserRequest, state: State) -> UserInfo:
    """Adds a person, who has a role in no project yet. For administrators."""
    with state.database.write() as transaction:
        added = people.add_principal(
            transaction,
            request.name,
            people.USER,
            full_name=request.full_name,
            is_admin=request.is_admin,
        )
    return UserInfo.of(added, {})


@router.get(
    "/users/{user}",
    summary="Get a person",
    response_description="The person.",
    responses=problems.documented(404),
)
@open_to("owner")
def get_user(user: UserName, state: State) -> UserInfo:
    """Returns a person or a service account. For administrators."""
    with state.database.read() as transaction:
        found = people.get_principal(transaction, user)
        return UserInfo.of(found, people.roles_of(transaction, user))


@router.patch(
    "/users/{user}",
    summary="Change a person",
    response_description="The person.",
    responses=_CHANGE,
)
@open_to("owner")
def change_user(user: UserName, request: UserChange, state: State) -> UserInfo:
    """Disables or enables a person or a service account, or changes its rights.

    Its tokens and sessions are refused at once. For administrators.
    """
    with state.database.write() as transaction:
        changed = people.change_principal(
            transaction,
            user,
            full_name=request.full_name,
            is_admin=request.is_admin,
            is_disabled=request.is_disabled,
        )
        if request.subject is not None:
            people.set_subject(transaction, user, state.settings.oidc_issuer, request.subject)
            changed = people.get_principal(transaction, user)
        return UserInfo.of(changed, people.roles_of(transaction, user))


def _project(state: AppState, caller: CurrentCaller, name: str) -> ProjectDetail:
    with state.database.read() as transaction:
        found = people.get_project(transaction, name)
        members = people.members_of(transaction, name)
    return ProjectDetail.with_members(found, caller.access, members)
