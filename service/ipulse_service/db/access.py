"""The roles in projects, and the one function that decides what a request may see and change.

Each transaction has the access of its caller. Service and agents are trusted: what an agent
may read depends on the jobs that it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Literal, cast

from sqlalchemy import Column, ColumnElement, Table, and_, false, or_, true

from ipulse_core.errors import InvalidInput, NotPermitted, Problem
from ipulse_service.db.tables import DEFAULT_PROJECT, OWNER


class ProjectRole(StrEnum):
    """A role in a project, from the least to the most rights."""

    VIEWER = "viewer"
    MEMBER = "member"
    DEVELOPER = "developer"
    MAINTAINER = "maintainer"
    OWNER = "owner"

    def includes(self, other: ProjectRole) -> bool:
        """Returns whether it has all rights of another role."""
        order = list(ProjectRole)
        return order.index(self) >= order.index(other)


class Scope(StrEnum):
    """A part of the rights of a principal, which a token carries or not."""

    READ = "read"
    SUBMIT = "submit"  # and change what one owns
    CODE = "code"  # submit programs and custom ops, which workers build and run
    MANAGE = "manage"  # what others own, members, service accounts and their tokens
    ADMIN = "admin"  # the whole service, of an administrator


class Action(Enum):
    """What a request does with an object of a project: the least role, and the scope."""

    READ = (ProjectRole.VIEWER, Scope.READ)
    SUBMIT = (ProjectRole.MEMBER, Scope.SUBMIT)
    CHANGE_OWN = (ProjectRole.MEMBER, Scope.SUBMIT, "")
    SUBMIT_CODE = (ProjectRole.DEVELOPER, Scope.CODE)
    CHANGE = (ProjectRole.MAINTAINER, Scope.MANAGE)
    MANAGE_ACCOUNTS = (ProjectRole.MAINTAINER, Scope.MANAGE, "")
    MANAGE_MEMBERS = (ProjectRole.OWNER, Scope.MANAGE)

    def __init__(self, role: ProjectRole, scope: Scope, _distinct: str = "-") -> None:
        self.role = role
        self.scope = scope


# The names of the actions, as the API says what is allowed.
ActionName = Literal[
    "read",
    "submit",
    "change_own",
    "submit_code",
    "change",
    "manage_accounts",
    "manage_members",
]

ALL_SCOPES = frozenset(Scope)


class CodeNotPermitted(NotPermitted):
    """Submitting code, which workers build and run, needs a role and a scope."""

    code = "code_not_permitted"


class NoProject(InvalidInput):
    """Name the project: the header IPUlse-Project, --project, or IPULSE_PROJECT."""

    code = "no_project"


@dataclass(frozen=True)
class Access:
    """The rights of a caller at one moment: its roles in projects, within those of its token."""

    name: str  # of the principal
    roles: Mapping[str, ProjectRole] = field(default_factory=dict, hash=False)
    scopes: frozenset[Scope] = ALL_SCOPES
    is_admin: bool = False  # it is an owner of every project
    is_trusted: bool = False  # the service itself, or an agent
    agent: str | None = None  # that sends the request: it acts for no other one
    is_local: bool = False  # that agent belongs to the home of the service
    asked_project: str | None = None  # that the request names for what it adds
    only: str | None = None  # the one project in which its token is valid; None: all
    is_delegated: bool = False  # the service adds something in the name of somebody
    token_id: str | None = field(default=None, compare=False)  # for the audit log
    request_id: str = field(default="", compare=False)

    def decide(self, action: Action, project: str) -> bool:
        """Returns whether it may do something in a project: the one place that says yes."""
        if self.is_trusted:
            return True
        role = ProjectRole.OWNER if self.is_admin else self.roles.get(project)
        return role is not None and role.includes(action.role) and action.scope in self.scopes

    def allowed(self, project: str) -> list[ActionName]:
        """Returns the names of what it may do in a project."""
        allowed = (action for action in Action if self.decide(action, project))
        return [cast(ActionName, action.name.lower()) for action in allowed]

    @property
    def is_person(self) -> bool:
        """True if a person or a service account has sent the request."""
        return not (self.is_trusted or self.is_delegated)

    @property
    def sees_all(self) -> bool:
        """True if it may read what belongs to any project."""
        return self.is_trusted or (self.is_admin and Scope.READ in self.scopes)

    def sees(self, project: str) -> bool:
        """Returns whether it may read what belongs to a project."""
        return self.decide(Action.READ, project)

    def may_change(self, project: str, owner: str) -> bool:
        """Returns whether it may change or delete what belongs to an owner in a project."""
        is_own = owner == self.name and self.decide(Action.CHANGE_OWN, project)
        return is_own or self.decide(Action.CHANGE, project)

    def check_change(self, project: str, owner: str) -> None:
        """Raises NotPermitted unless it may change what belongs to an owner in a project."""
        if self.may_change(project, owner):
            return
        own = self.roles.get(project, ProjectRole.VIEWER).includes(Action.CHANGE_OWN.role)
        if owner == self.name and own:
            raise NotPermitted("this token only reads: it lacks the scope submit")
        raise NotPermitted(
            f"this belongs to {owner} in the project {project}: changing it needs the role "
            f"{Action.CHANGE.role.value} there, and a token with the scope {Action.CHANGE.scope}"
        )

    def check(self, action: Action, project: str) -> None:
        """Raises NotPermitted, which names the role, unless it may do something in a project."""
        if not self.decide(action, project):
            raise NotPermitted(
                f"this needs the role {action.role.value} in the project {project}, and a token "
                f"with the scope {action.scope.value}"
            )

    def check_submits_code(self, project: str) -> None:
        """Raises CodeNotPermitted unless it may submit code to a project."""
        if not self.decide(Action.SUBMIT_CODE, project):
            raise CodeNotPermitted(
                f"programs and custom ops need the role {Action.SUBMIT_CODE.role} in the project "
                f"{project}, and a token with the scope {Action.SUBMIT_CODE.scope}; an "
                "administrator makes one: `ipulse token create NAME --role user --submit-code`"
            )

    @property
    def submits(self) -> bool:
        """Whether it may submit jobs to any project."""
        return self._may_somewhere(Action.SUBMIT)

    @property
    def submits_code(self) -> bool:
        """Whether it may submit code to any project."""
        return self._may_somewhere(Action.SUBMIT_CODE)

    def _may_somewhere(self, action: Action) -> bool:
        return any(self.decide(action, project) for project in {DEFAULT_PROJECT, *self.roles})

    def check_admin(self, what: str) -> None:
        """Raises NotPermitted unless it administers the service; `what` is what it may not set."""
        if not (self.is_trusted or (self.is_admin and Scope.ADMIN in self.scopes)):
            raise NotPermitted(f"{what} is set by administrators of the service")

    def where(self, table: Table) -> ColumnElement[bool]:
        """Returns the condition that it may read a row."""
        if self.sees_all:
            return true()
        return self._in_projects(table.c.project, Action.READ)

    def where_changeable(self, table: Table) -> ColumnElement[bool]:
        """Returns the condition that it may change a row."""
        may_change_all = self._in_projects(table.c.project, Action.CHANGE)
        if self.is_trusted or (self.is_admin and Action.CHANGE.scope in self.scopes):
            may_change_all = true()
        own = self._in_projects(table.c.project, Action.CHANGE_OWN)
        if self.is_admin and Action.CHANGE_OWN.scope in self.scopes:
            own = true()
        return or_(may_change_all, and_(table.c.owner == self.name, own))

    def _in_projects(self, column: Column[str], action: Action) -> ColumnElement[bool]:
        names = sorted(name for name in self.roles if self.decide(action, name))
        return column.in_(names) if names else false()

    @property
    def project(self) -> str:
        """The project of what it adds.

        Raises NoProject if it has several and the request names none, and NotPermitted if it may
        not add to that project.
        """
        if self.is_trusted:
            return self.asked_project or DEFAULT_PROJECT
        named = self.asked_project
        if named is None:
            usable = sorted(name for name in self.roles if self.decide(Action.SUBMIT, name))
            if self.is_admin or DEFAULT_PROJECT in usable or not usable:
                named = DEFAULT_PROJECT
            elif len(usable) == 1:
                named = usable[0]
            else:
                raise NoProject(
                    [Problem("/header/ipulse-project", "missing", f"one of {', '.join(usable)}")]
                )
        is_known = named in self.roles or named == DEFAULT_PROJECT
        if not (is_known and self.sees(named)):
            raise NoProject(
                [
                    Problem(
                        "/header/ipulse-project", "unknown", f"there is no project {named[:64]!r}"
                    )
                ]
            )
        self.check(Action.SUBMIT, named)
        return named

    @property
    def preferred_project(self) -> str:
        """The project in which names are looked up first: that of what it adds, if it may."""
        try:
            return self.project
        except (NoProject, NotPermitted):
            return self.asked_project or DEFAULT_PROJECT

    def ownership(self) -> dict[str, str]:
        """Returns the columns of what it adds to a project. Raises what `project` raises."""
        return {"project": self.project, "owner": self.name, "created_by": self.name}


def of_owner(owner: str, project: str) -> Access:
    """Returns the rights with which the service adds to a project for an owner."""
    roles = {project: ProjectRole.MEMBER}
    return Access(owner, roles, asked_project=project, is_delegated=True)


TRUSTED = Access(OWNER, is_trusted=True)
NOBODY = Access("", scopes=frozenset())
