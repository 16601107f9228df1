"""project and user: projects, their members, and people."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Wide, Yes, addressed
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import confirm, emit, minute_text, say, show, show_done
from ipulse.client import Project, User
from ipulse_core.errors import InvalidInput, Problem

ProjectName = Annotated[
    str, typer.Argument(metavar="PROJECT", help="Name of the project.", show_default=False)
]
UserName = Annotated[
    str,
    typer.Argument(
        metavar="USER", help="Name of the person or service account.", show_default=False
    ),
]
_NEW_MEMBER = "member"  # the default role
Public = Annotated[
    bool | None,
    typer.Option("--public/--no-public", help="Let everybody read it.", show_default=False),
]


@addressed
def create_project(
    at: Address,
    name: ProjectName,
    description: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "",
    public: Public = None,
    as_json: AsJSON = False,
) -> Exit:
    """Create a project, of which you become an owner. For administrators.

    IPULSE_PROJECT says to which project commands add jobs and data sets.
    """
    with at.connect() as connection:
        project = connection.create_project(name, description, is_public=bool(public))
    _show_change("created", project, as_json)
    return Exit.OK


@addressed
def list_projects(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the projects that you may read, and your role in each."""
    with at.connect() as connection:
        projects = connection.projects()
    rows = [
        (each.name, each.role, "yes" if each.is_public else "", each.description)
        for each in projects
    ]
    documents = [each.json for each in projects]
    headers = ["PROJECT", "ROLE", "PUBLIC", "DESCRIPTION"]
    show_list("projects", documents, headers, rows, as_json, wide)
    return Exit.OK


@addressed
def show_project(
    at: Address, name: ProjectName, wide: Wide = False, as_json: AsJSON = False
) -> Exit:
    """Show the members of a project and their roles."""
    with at.connect() as connection:
        project = connection.project(name)
    if as_json:
        emit(project.json)
        return Exit.OK
    rows = [*project.members.items()]
    show_list("members", project.json["members"], ["USER", "ROLE"], rows, False, wide)
    return Exit.OK


@addressed
def edit_project(
    at: Address,
    name: ProjectName,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it is for.", show_default=False)
    ] = None,
    public: Public = None,
    as_json: AsJSON = False,
) -> Exit:
    """Change the description of a project, or whether everybody may read it."""
    with at.connect() as connection:
        project = connection.change_project(name, description=description, is_public=public)
    _show_change("changed", project, as_json)
    return Exit.OK


@addressed
def set_member(
    at: Address,
    project: ProjectName,
    user: UserName,
    role: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE",
            help="viewer: read; member: also submit, and change what is theirs; developer: also "
            "submit code; maintainer: also change what others own, and service accounts; owner: "
            "also members.",
            show_default=False,
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the member.")] = False,
    yes: Yes = False,
    as_json: AsJSON = False,
) -> Exit:
    """Add a member to a project, change the role of one (default: member), or remove one."""
    if remove:
        if role is not None:
            detail = "give either --role or --remove"
            raise InvalidInput([Problem("/role", "inconsistent", detail)], detail)
        confirm("remove", f"{user} from the project {project}", yes)
    else:
        role = role or _NEW_MEMBER
    with at.connect() as connection:
        if role is None:
            connection.remove_member(project, user)
        else:
            connection.set_member(project, user, role)
    if as_json:
        emit({"project": project, "user": user, "role": role})
    elif role is None:
        show(f"removed {user} from {project}")
    else:
        show(f"{user} is {role} in {project}")
    return Exit.OK


@addressed
def add_user(
    at: Address,
    name: UserName,
    full_name: Annotated[str, typer.Option(metavar="TEXT", help="Their name for people.")] = "",
    project: Annotated[
        str | None,
        typer.Option(metavar="PROJECT", help="Make them a member of it.", show_default=False),
    ] = None,
    admin: Annotated[
        bool, typer.Option("--admin", help="Let them administer the service.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Add a person. `ipulse token create NAME --user USER` then makes a token for them."""
    with at.connect() as connection:
        if project is not None:
            connection.project(project)  # one that does not exist is refused before they are added
        user = connection.create_user(name, full_name, is_admin=admin)
        if project is not None:
            connection.set_member(project, name, _NEW_MEMBER)
            user = connection.user(name)
    _show_change("added", user, as_json)
    if not as_json:
        say(f"a token for them: `ipulse token create laptop --user {user.name}`")
    return Exit.OK


@addressed
def list_users(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List people and service accounts, and their roles in projects. For administrators."""
    with at.connect() as connection:
        users = connection.users()
    rows = [
        (
            each.name,
            "disabled" if each.is_disabled else "admin" if each.is_admin else each.kind,
            each.full_name,
            ", ".join(f"{project}: {role}" for project, role in each.roles.items()),
        )
        for each in users
    ]
    documents = [each.json for each in users]
    headers = ["USER", "KIND", "FULL NAME", "PROJECTS"]
    show_list("users", documents, headers, rows, as_json, wide)
    return Exit.OK


@addressed
def edit_user(
    at: Address,
    name: UserName,
    full_name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Name for people.", show_default=False)
    ] = None,
    admin: Annotated[
        bool | None,
        typer.Option(
            "--admin/--no-admin", help="Let them administer the service.", show_default=False
        ),
    ] = None,
    disable: Annotated[
        bool | None,
        typer.Option(
            "--disable/--enable",
            help="Refuse all their tokens and sessions at once, or accept them again.",
            show_default=False,
        ),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Who they are at the provider with which people sign in.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Disable or enable a person or a service account, or change their rights."""
    with at.connect() as connection:
        user = connection.change_user(
            name, full_name=full_name, is_admin=admin, is_disabled=disable, subject=subject
        )
    _show_change("changed", user, as_json)
    return Exit.OK


@addressed
def show_me(at: Address, as_json: AsJSON = False) -> Exit:
    """Show who you are, your role in each project, and what your token carries."""
    with at.connect() as connection:
        rights = connection.me()
    if as_json:
        emit(rights.json)
        return Exit.OK
    show(f"{rights.name} (administrator)" if rights.is_admin else rights.name)
    for project, role in rights.roles.items():
        show(f"  {project}: {role}")
    show(f"  token: {', '.join(rights.scopes)}")
    return Exit.OK


@addressed
def list_sessions(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the browsers in which you are signed in."""
    with at.connect() as connection:
        sessions = connection.sessions()
    rows = [
        (each.id, minute_text(each.created_at), minute_text(each.expires_at)) for each in sessions
    ]
    documents = [each.json for each in sessions]
    show_list("sessions", documents, ["ID", "SINCE", "EXPIRES"], rows, as_json, wide)
    return Exit.OK


@addressed
def sign_out(
    at: Address,
    session_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only this session.", show_default=False)
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Sign out of all browsers at once, or of one; your tokens stay valid."""
    with at.connect() as connection:
        connection.end_sessions(session_id)
    show_done("signed_out", session_id or "everywhere", as_json)
    return Exit.OK


def _show_change(done: str, changed: Project | User, as_json: bool) -> None:
    """Write a project or a person after a change, or what was done with it, such as "added"."""
    if as_json:
        emit(changed.json)
    else:
        show(f"{done} {changed.name}")
