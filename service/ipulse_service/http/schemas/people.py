"""Projects, people and service accounts as the API takes and returns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, Field

from ipulse.models import StrictModel
from ipulse_core.limits import CONTROL, PRINTABLE
from ipulse_service.db.access import Access, ActionName, ProjectRole, Scope
from ipulse_service.db.engine import rfc3339
from ipulse_service.db.people import NAME_FORM, Membership, PrincipalRow, ProjectRow
from ipulse_service.http.schemas.base import Timestamp, example

Handle = Annotated[
    str, Field(pattern=NAME_FORM, description="Lower case; it never changes.", examples=["alice"])
]
FullName = Annotated[str, Field(pattern=rf"^[^{CONTROL}]{{0,128}}$", description="For people.")]
Description = Annotated[str, Field(pattern=rf"^[^{CONTROL}]{{0,1000}}$")]
ABOUT_ROLES = (
    "viewer: read; member: also submit, and change what one owns; developer: also submit code; "
    "maintainer: also change what others own, and service accounts; owner: also members."
)
ABOUT_ALLOWED = "What the role and the token of the caller let it do there."

_PROJECT = {
    "name": "vision",
    "description": "Event cameras",
    "is_public": False,
    "created_at": "2026-01-31T12:00:00.000Z",
    "created_by": "owner",
    "role": "owner",
    "allowed": list(get_args(ActionName)),
}
_USER = {
    "name": "nightly",
    "kind": "service",
    "full_name": "Nightly runs",
    "project": "default",
    "is_admin": False,
    "is_disabled": False,
    "roles": {"default": "member"},
    "created_at": "2026-01-31T12:00:00.000Z",
    "created_by": "owner",
}


_MEMBER = {"name": "alice", "role": "member", "group_role": None}


class ProjectRequest(StrictModel):
    """A new project."""

    model_config = example(name="vision", description="Event cameras", is_public=False)

    name: Handle
    description: Description = ""
    is_public: bool = Field(default=False, description="Whether everybody may read it.")


class ProjectChange(StrictModel):
    """A change of a project; what is left out stays."""

    model_config = example(description="Event cameras", is_public=True)

    description: Description | None = None
    is_public: bool | None = Field(default=None, description="Whether everybody may read it.")


class ProjectInfo(BaseModel):
    """A project, and the caller's role in it."""

    model_config = example(**_PROJECT)

    name: str
    description: str
    is_public: bool
    created_at: Timestamp | None
    created_by: str
    role: ProjectRole = Field(description=ABOUT_ROLES)
    allowed: list[ActionName] = Field(description=ABOUT_ALLOWED)

    @classmethod
    def of(cls, project: ProjectRow, access: Access) -> Self:
        """Returns the model of a project that a caller sees."""
        return cls(**_project_fields(project, access))


class ProjectList(BaseModel):
    """The projects that the caller may read."""

    model_config = example(projects=[_PROJECT])

    projects: list[ProjectInfo]


class MemberInfo(BaseModel):
    """A member of a project."""

    model_config = example(**_MEMBER)

    name: str
    role: ProjectRole
    group_role: ProjectRole | None = Field(
        default=None,
        description="The role that the person has by a group of the provider; null: none. `role` "
        "is this one, or a higher one that was given by hand.",
    )


class ProjectDetail(ProjectInfo):
    """A project with its members."""

    model_config = example(**_PROJECT, members=[_MEMBER])

    members: list[MemberInfo]

    @classmethod
    def with_members(
        cls, project: ProjectRow, access: Access, members: Sequence[Membership]
    ) -> Self:
        """Returns the model of a project that a caller sees, with its members."""
        listed = [
            MemberInfo(name=each.principal, role=each.role, group_role=each.group_role)
            for each in members
        ]
        return cls(**_project_fields(project, access), members=listed)


class MemberRequest(StrictModel):
    """The role of a member."""

    model_config = example(role="member")

    role: ProjectRole = Field(strict=False, description=ABOUT_ROLES)


class UserRequest(StrictModel):
    """A new person."""

    model_config = example(name="alice", full_name="Alice Archer", is_admin=False)

    name: Handle
    full_name: FullName = ""
    is_admin: bool = Field(default=False, description="Whether it administers the service.")


class UserChange(StrictModel):
    """A change of a person or a service account; what is left out stays."""

    model_config = example(
        full_name="Alice Archer", is_admin=False, is_disabled=True, subject="248289761001"
    )

    full_name: FullName | None = None
    is_admin: bool | None = Field(default=None, description="Whether it administers the service.")
    is_disabled: bool | None = Field(
        default=None, description="Whether all its tokens and sessions are refused."
    )
    subject: str | None = Field(
        default=None,
        max_length=255,
        pattern=PRINTABLE,
        description="Who the person is at the provider with which people sign in; empty: nobody.",
    )


class UserInfo(BaseModel):
    """A person or a service account, with its roles in projects."""

    model_config = example(**_USER)

    name: str
    kind: Literal["user", "service"]
    full_name: str
    project: str | None = Field(description="Of a service account.")
    is_admin: bool
    is_disabled: bool
    subject: str | None = Field(
        default=None, description="Who the person is at the provider; null: nobody."
    )
    roles: dict[str, ProjectRole] = Field(description="By project.")
    created_at: Timestamp | None
    created_by: str

    @classmethod
    def of(cls, principal: PrincipalRow, roles: Mapping[str, ProjectRole]) -> Self:
        """Returns the model of a person or a service account."""
        return cls(
            name=principal.name,
            kind="user" if principal.kind == "user" else "service",
            full_name=principal.full_name,
            project=principal.project,
            is_admin=principal.is_admin,
            is_disabled=principal.is_disabled,
            subject=principal.subject,
            roles=dict(roles),
            created_at=rfc3339(principal.created_at),
            created_by=principal.created_by,
        )


class UserList(BaseModel):
    """All people and service accounts."""

    model_config = example(users=[_USER])

    users: list[UserInfo]


class CallerInfo(BaseModel):
    """The caller of a request, and what it may do."""

    model_config = example(
        name="alice",
        is_admin=False,
        roles={"default": "member"},
        scopes=["read", "submit"],
        submit_code=False,
    )

    name: str
    is_admin: bool = Field(description="With a token of the scope `admin`.")
    roles: dict[str, ProjectRole] = Field(description="By project. " + ABOUT_ROLES)
    scopes: list[Scope] = Field(description="The part of these rights that its token carries.")
    submit_code: bool = Field(description="Whether it may submit Poplar programs and custom ops.")


def _project_fields(project: ProjectRow, access: Access) -> dict[str, Any]:
    role = ProjectRole.OWNER if access.is_admin else access.roles[project.name]
    return {
        "name": project.name,
        "description": project.description,
        "is_public": project.is_public,
        "created_at": rfc3339(project.created_at),
        "created_by": project.created_by,
        "role": role,
        "allowed": access.allowed(project.name),
    }
