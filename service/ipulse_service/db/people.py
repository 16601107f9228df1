"""Projects, the people and service accounts in them, and the rights that follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, select, update

from ipulse_core.errors import Conflict, InvalidInput, NotFound, Problem
from ipulse_service.db.access import Access, Action, ProjectRole, Scope
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import (
    DEFAULT_PROJECT,
    OWNER,
    group_members,
    members,
    principals,
    projects,
)

USER, SERVICE = "user", "service"
# Lower case and ASCII, so that no two names look alike.
NAME_FORM = r"^[a-z0-9][a-z0-9._@-]{0,62}$"
_NOT_IN_NAMES = re.compile("[^a-z0-9._@-]+")


class NameInUse(Conflict):
    """The name is in use; names of people, service accounts and projects never change."""

    code = "name_in_use"


class LastOwner(Conflict):
    """A project keeps one owner, and the service one administrator."""

    code = "last_owner"


@dataclass(frozen=True)
class ProjectRow:
    """A project. Times are milliseconds since 1970."""

    name: str
    description: str
    is_public: bool
    created_at: int
    created_by: str


@dataclass(frozen=True)
class PrincipalRow:
    """A person or a service account. Times are milliseconds since 1970."""

    name: str
    kind: str
    full_name: str
    project: str | None  # of a service account
    is_admin: bool
    is_disabled: bool
    created_at: int
    created_by: str
    issuer: str | None = None  # with the subject, who it is at a provider
    subject: str | None = None


@dataclass(frozen=True)
class Membership:
    """The role of a principal in a project."""

    project: str
    principal: str
    role: ProjectRole
    group_role: ProjectRole | None = None  # by a group; `role` is this or a higher one


def add_first(transaction: Transaction) -> None:
    """Adds the project and the person that a new service begins with."""
    now = transaction.now
    execute = transaction.connection.execute
    execute(insert(projects).values(name=DEFAULT_PROJECT, created_at=now))
    owner = {"name": OWNER, "kind": USER, "is_admin": True, "created_at": now}
    execute(insert(principals).values(owner))
    role = ProjectRole.OWNER.value
    execute(insert(members).values(project=DEFAULT_PROJECT, principal=OWNER, role=role))


def access_of(
    transaction: Transaction, name: str, scopes: frozenset[Scope], only: str | None
) -> Access | None:
    """Returns the rights of a principal within those of its token, None if it is disabled.

    `only` is the one project in which the token is valid; None: all.
    """
    query = select(principals.c.is_admin, principals.c.is_disabled)
    row = transaction.connection.execute(query.where(principals.c.name == name)).one_or_none()
    if row is None or row.is_disabled:
        return None
    given = roles_of(transaction, name)
    found = transaction.connection.execute(select(projects.c.name, projects.c.is_public))
    roles = {
        project: given.get(project, ProjectRole.VIEWER)
        for project, is_public in found
        if (project in given or is_public or row.is_admin) and only in (None, project)
    }
    if row.is_admin:
        roles = dict.fromkeys(roles, ProjectRole.OWNER)
    is_admin = bool(row.is_admin) and only is None and Scope.ADMIN in scopes
    return Access(name, roles, scopes, is_admin, only=only)


def visible_projects(transaction: Transaction) -> list[ProjectRow]:
    """Returns the projects that the caller may read, by name."""
    rows = transaction.connection.execute(select(projects).order_by(projects.c.name))
    return [ProjectRow(**row._mapping) for row in rows if transaction.access.sees(row.name)]


def get_project(transaction: Transaction, name: str) -> ProjectRow:
    """Returns a project that the caller may read. Raises NotFound."""
    query = select(projects).where(projects.c.name == name)
    row = transaction.connection.execute(query).one_or_none()
    if row is None or not transaction.access.sees(name):
        raise NotFound("there is no such project; `ipulse project list` shows all")
    return ProjectRow(**row._mapping)


def add_project(
    transaction: Transaction, name: str, description: str, is_public: bool
) -> ProjectRow:
    """Adds a project, of which the caller becomes an owner. Raises NameInUse."""
    _lock(transaction)
    query = select(projects.c.name).where(projects.c.name == name)
    if transaction.connection.execute(query).first() is not None:
        raise NameInUse()
    by = transaction.access.name
    values = {"name": name, "description": description, "is_public": is_public}
    values |= {"created_at": transaction.now, "created_by": by}
    transaction.connection.execute(insert(projects).values(values))
    role = ProjectRole.OWNER.value
    transaction.connection.execute(insert(members).values(project=name, principal=by, role=role))
    transaction.audit("project.create", name, name)
    return get_project(transaction, name)


def change_project(
    transaction: Transaction, name: str, description: str | None, is_public: bool | None
) -> ProjectRow:
    """Changes a project. Raises NotFound, NotPermitted."""
    get_project(transaction, name)
    transaction.access.check(Action.MANAGE_MEMBERS, name)
    given = {"description": description, "is_public": is_public}
    values = {column: value for column, value in given.items() if value is not None}
    if values:
        change = update(projects).where(projects.c.name == name).values(values)
        transaction.connection.execute(change)
        transaction.audit("project.edit", name, name, ", ".join(sorted(values)))
    return get_project(transaction, name)


def members_of(transaction: Transaction, project: str) -> list[Membership]:
    """Returns the members of a project that the caller may read, by name. Raises NotFound."""
    get_project(transaction, project)
    query = select(members.c.principal, members.c.role).where(members.c.project == project)
    given = {name: ProjectRole(role) for name, role in transaction.connection.execute(query)}
    by_group = select(group_members.c.principal, group_members.c.role)
    by_group = by_group.where(group_members.c.project == project, _is_valid(transaction))
    found = transaction.connection.execute(by_group)
    groups = {name: ProjectRole(role) for name, role in found}
    highest = _highest(given, groups)
    return [Membership(project, name, highest[name], groups.get(name)) for name in sorted(highest)]


def roles_of(transaction: Transaction, principal: str) -> dict[str, ProjectRole]:
    """Returns the roles of a principal, by project: given by hand, or by groups."""
    query = select(members.c.project, members.c.role).where(members.c.principal == principal)
    given = {name: ProjectRole(role) for name, role in transaction.connection.execute(query)}
    return dict(sorted(_highest(given, group_roles_of(transaction, principal)).items()))


def group_roles_of(transaction: Transaction, principal: str) -> dict[str, ProjectRole]:
    """Returns the roles that a person has by groups, by project."""
    query = select(group_members.c.project, group_members.c.role)
    query = query.where(group_members.c.principal == principal, _is_valid(transaction))
    return {name: ProjectRole(role) for name, role in transaction.connection.execute(query)}


def set_group_roles(
    transaction: Transaction, principal: str, roles: Mapping[str, ProjectRole], seconds: float
) -> list[str]:
    """Replaces the roles that a person has by groups; they expire after `seconds`.

    Returns the projects among them that do not exist.
    """
    _lock(transaction)
    known = set(transaction.connection.execute(select(projects.c.name)).scalars())
    former = group_roles_of(transaction, principal)
    roles_now = {project: role for project, role in roles.items() if project in known}
    own = group_members.c.principal == principal
    transaction.connection.execute(delete(group_members).where(own))
    expires_at = transaction.now + round(seconds * 1000)
    rows = [
        {"project": project, "principal": principal, "role": role.value, "expires_at": expires_at}
        for project, role in roles_now.items()
    ]
    if rows:
        transaction.connection.execute(insert(group_members), rows)
    for project in sorted(former.keys() | roles_now.keys()):
        role = roles_now.get(project)
        if role is None:
            transaction.audit("member.remove", principal, project, "by a group")
        elif role is not former.get(project):
            transaction.audit("member.set", principal, project, f"{role.value} by a group")
    return sorted(roles.keys() - known)


def _is_valid(transaction: Transaction) -> ColumnElement[bool]:
    return group_members.c.expires_at > transaction.now


def _highest(*roles: Mapping[str, ProjectRole]) -> dict[str, ProjectRole]:
    found: dict[str, ProjectRole] = {}
    for each in roles:
        for name, role in each.items():
            if name not in found or role.includes(found[name]):
                found[name] = role
    return found


def set_member(transaction: Transaction, project: str, principal: str, role: ProjectRole) -> None:
    """Gives a principal a role in a project.

    Raises NotFound, NotPermitted, and LastOwner if the project would have no owner.
    """
    get_project(transaction, project)
    found = _managed(transaction, project, principal, role)
    if found.project not in (None, project):
        detail = f"{principal} is a service account of another project"
        raise InvalidInput([Problem("/path/principal", "inconsistent", detail)])
    by_group = group_roles_of(transaction, principal).get(project)
    if by_group is not None and not role.includes(by_group):
        detail = (
            f"{principal} has the role {by_group.value} by a group of the provider, and this one "
            "is lower: change the group"
        )
        raise InvalidInput([Problem("/role", "inconsistent", detail)])
    _lock(transaction)
    of_member = (members.c.project == project, members.c.principal == principal)
    change = update(members).where(*of_member).values(role=role.value)
    if not transaction.connection.execute(change).rowcount:
        values = {"project": project, "principal": principal, "role": role.value}
        transaction.connection.execute(insert(members).values(values))
    transaction.audit("member.set", principal, project, role.value)
    _check_owner(transaction, project)


def remove_member(transaction: Transaction, project: str, principal: str) -> None:
    """Removes a principal from a project. Raises NotFound, NotPermitted, LastOwner."""
    get_project(transaction, project)
    _managed(transaction, project, principal, None)
    _lock(transaction)
    of_member = (members.c.project == project, members.c.principal == principal)
    if not transaction.connection.execute(delete(members).where(*of_member)).rowcount:
        by_group = group_roles_of(transaction, principal).get(project)
        why = "the role is by a group of the provider: change the group"
        raise NotFound(f"there is no such member{f' by hand; {why}' if by_group else ''}")
    transaction.audit("member.remove", principal, project)
    _check_owner(transaction, project)


def all_principals(transaction: Transaction) -> list[PrincipalRow]:
    """Returns all people and service accounts, by name."""
    rows = transaction.connection.execute(select(principals).order_by(principals.c.name))
    return [PrincipalRow(**row._mapping) for row in rows]


def get_principal(transaction: Transaction, name: str) -> PrincipalRow:
    """Returns a person or a service account. Raises NotFound."""
    query = select(principals).where(principals.c.name == name)
    row = transaction.connection.execute(query).one_or_none()
    if row is None:
        raise NotFound("there is no such user; `ipulse user list` shows all")
    return PrincipalRow(**row._mapping)


def find_subject(transaction: Transaction, issuer: str, subject: str) -> PrincipalRow | None:
    """Returns the person who is this one at a provider, None if nobody is."""
    query = select(principals).where(principals.c.issuer == issuer, principals.c.subject == subject)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else PrincipalRow(**row._mapping)


def add_subject(
    transaction: Transaction, issuer: str, subject: str, handle: str, full_name: str
) -> PrincipalRow:
    """Adds a person who signs in for the first time, with a name like the handle."""
    _lock(transaction)
    found = find_subject(transaction, issuer, subject)
    if found is not None:  # another request was first
        return found
    name = free_name(handle, lambda each: _exists(transaction, each))
    add_principal(transaction, name, USER, full_name=full_name)
    _set_subject(transaction, name, issuer, subject)
    return get_principal(transaction, name)


def set_subject(transaction: Transaction, name: str, issuer: str, subject: str) -> None:
    """Notes who a person is at a provider; an empty subject: nobody. Raises NotFound, NameInUse."""
    found = get_principal(transaction, name)
    if found.kind != USER or not issuer:
        detail = "only a person signs in" if issuer else "this service has no provider"
        raise InvalidInput([Problem("/subject", "inconsistent", detail)])
    _lock(transaction)
    other = find_subject(transaction, issuer, subject)
    if other is not None and other.name != name:
        raise NameInUse(f"{other.name} is this one at the provider")
    _set_subject(transaction, name, issuer if subject else None, subject or None)
    transaction.audit("user.edit", name, None, f"subject: {subject}")


def _set_subject(
    transaction: Transaction, name: str, issuer: str | None, subject: str | None
) -> None:
    change = update(principals).where(principals.c.name == name)
    transaction.connection.execute(change.values(issuer=issuer, subject=subject))


def add_principal(
    transaction: Transaction,
    name: str,
    kind: str,
    *,
    full_name: str = "",
    project: str | None = None,
    is_admin: bool = False,
) -> PrincipalRow:
    """Adds a person or a service account. Raises NameInUse."""
    _lock(transaction)
    if _exists(transaction, name):
        raise NameInUse()
    values = {
        "name": name,
        "kind": kind,
        "full_name": full_name,
        "project": project,
        "is_admin": is_admin,
        "created_at": transaction.now,
        "created_by": transaction.access.name,
    }
    transaction.connection.execute(insert(principals).values(values))
    detail = "administrator" if is_admin else kind
    transaction.audit("user.create", name, project, detail)
    return get_principal(transaction, name)


def add_service_account(
    transaction: Transaction, title: str, project: str, role: ProjectRole
) -> PrincipalRow:
    """Adds a service account of a project, with a name like its title.

    Raises NotFound and NotPermitted.
    """
    get_project(transaction, project)
    transaction.access.check(Action.MANAGE_ACCOUNTS, project)
    if role is ProjectRole.OWNER:
        transaction.access.check(Action.MANAGE_MEMBERS, project)
    _lock(transaction)
    name = free_name(title, lambda each: _exists(transaction, each))
    account = add_principal(transaction, name, SERVICE, full_name=title, project=project)
    values = {"project": project, "principal": name, "role": role.value}
    transaction.connection.execute(insert(members).values(values))
    return account


def let_submit_code(transaction: Transaction, name: str, project: str | None) -> None:
    """Gives a service account the role to submit code. Raises InvalidInput for others without it.

    `project` is the only one in which its token is valid; None: all.
    """
    found = get_principal(transaction, name)
    given = roles_of(transaction, name)
    roles = [role for each, role in given.items() if project in (None, each)]
    least = Action.SUBMIT_CODE.role
    if found.is_admin or any(role.includes(least) for role in roles):
        return
    if found.project is None:
        detail = (
            f"{name} has no role that may submit code: give the role {least.value} with "
            f"`ipulse project member PROJECT {name} --role {least.value}`"
        )
        raise InvalidInput([Problem("/submit_code", "inconsistent", detail)])
    set_member(transaction, found.project, name, least)


def free_name(title: str, is_taken: Any) -> str:
    """Returns a name like a title that is not taken."""
    stem = _NOT_IN_NAMES.sub("-", title.lower()).strip("-._@")[:50] or "account"
    name, number = stem, 1
    while is_taken(name):
        number += 1
        name = f"{stem}-{number}"
    return name


def change_principal(
    transaction: Transaction,
    name: str,
    *,
    full_name: str | None = None,
    is_admin: bool | None = None,
    is_disabled: bool | None = None,
) -> PrincipalRow:
    """Changes a person or a service account. Raises NotFound, and LastOwner for the last admin."""
    found = get_principal(transaction, name)
    if is_admin and found.kind != USER:
        detail = "only a person is an administrator"
        raise InvalidInput([Problem("/is_admin", "inconsistent", detail)])
    _lock(transaction)
    given = {"full_name": full_name, "is_admin": is_admin, "is_disabled": is_disabled}
    values = {column: value for column, value in given.items() if value is not None}
    if values:
        change = update(principals).where(principals.c.name == name).values(values)
        transaction.connection.execute(change)
        written = (f"{column}: {str(value).lower()}" for column, value in sorted(values.items()))
        transaction.audit("user.edit", name, None, ", ".join(written))
    left = select(func.count()).select_from(principals)
    left = left.where(principals.c.is_admin, ~principals.c.is_disabled)
    if not transaction.connection.execute(left).scalar_one():
        raise LastOwner()
    return get_principal(transaction, name)


def check_manages(transaction: Transaction, name: str) -> PrincipalRow:
    """Returns a principal of which the caller may make and revoke tokens. Raises NotFound.

    These are itself, the service accounts of projects that it maintains, and all for an admin.
    """
    access = transaction.access
    found = get_principal(transaction, name)
    if name == access.name or access.is_admin or access.is_trusted:
        return found
    if found.project is not None and access.decide(_managing(transaction, found), found.project):
        return found
    raise NotFound("there is no such user; `ipulse user list` shows all")


def managed_names(transaction: Transaction) -> Sequence[str] | None:
    """Returns the names for which `check_manages` passes, None for all."""
    access = transaction.access
    if access.is_admin or access.is_trusted:
        return None
    maintained = [p for p in access.roles if access.decide(Action.MANAGE_ACCOUNTS, p)]
    query = select(principals).where(principals.c.project.in_(maintained))
    accounts = [PrincipalRow(**row._mapping) for row in transaction.connection.execute(query)]
    managed = [
        each.name
        for each in accounts
        if each.project is not None and access.decide(_managing(transaction, each), each.project)
    ]
    return [access.name, *managed]


def _managed(
    transaction: Transaction, project: str, principal: str, role: ProjectRole | None
) -> PrincipalRow:
    """Returns a principal if the caller may change its role in a project."""
    access = transaction.access
    if not access.decide(Action.MANAGE_ACCOUNTS, project):
        access.check(Action.MANAGE_MEMBERS, project)
    found = get_principal(transaction, principal)
    if found.project != project or role is ProjectRole.OWNER:
        access.check(Action.MANAGE_MEMBERS, project)
    access.check(_managing(transaction, found), project)
    return found


def _managing(transaction: Transaction, principal: PrincipalRow) -> Action:
    """Returns what it takes to manage a service account: nobody gets more rights than they have."""
    roles = roles_of(transaction, principal.name)
    is_owner = roles.get(principal.project or "") is ProjectRole.OWNER
    return Action.MANAGE_MEMBERS if is_owner else Action.MANAGE_ACCOUNTS


def _exists(transaction: Transaction, name: str) -> bool:
    query = select(principals.c.name).where(principals.c.name == name)
    return transaction.connection.execute(query).first() is not None


def _check_owner(transaction: Transaction, project: str) -> None:
    query = select(func.count()).select_from(members)
    is_owner = (members.c.project == project, members.c.role == ProjectRole.OWNER.value)
    if not transaction.connection.execute(query.where(*is_owner)).scalar_one():
        raise LastOwner()


def _lock(transaction: Transaction) -> None:
    """Lets one transaction at a time change people and projects."""
    transaction.lock("people")
