"""token create, list, edit and revoke: access for other people and programs."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Wide, Yes, addressed
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import confirm, emit, minute_text, say, show, show_done

DAY_SECONDS = 86_400


@addressed
def create_token(
    at: Address,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the person or program that uses it.")
    ],
    role: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE",
            help="Make a service account. reader (the default): read; user: also submit jobs and "
            "change its own.",
            show_default=False,
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Person or service account that uses it; me: yourself."),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPE",
            help="Part of the rights that it carries: read, submit, code, manage, admin; "
            "repeatable. By default all but code.",
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="The only project in which it is valid.")
    ] = None,
    submit_code: Annotated[
        bool,
        typer.Option(
            "--submit-code",
            help="Also submit programs and custom ops, which workers build: the scope code.",
        ),
    ] = False,
    days: Annotated[int, typer.Option(min=1, max=366, help="Days until it expires.")] = 30,
    as_json: AsJSON = False,
) -> Exit:
    """Create a token and print it.

    It is printed once and stored nowhere. Without --user it is the token of a new service account.
    """
    if role is None and user is None:
        role = "reader"
    with at.connect() as connection:
        token = connection.create_token(
            name,
            role,
            days * DAY_SECONDS,
            submit_code,
            user=None if user == "me" else user,
            scopes=scope,
            project=project,
        )
    if as_json:
        emit({"token": token.secret, "about": token.json})
    else:
        show(token.secret)
        role_text = f"{token.role} (submits code)" if token.submit_code else token.role
        of = f"of {token.user}, " if token.user else ""
        say(f"{token.id}: {of}role {role_text}, expires {minute_text(token.expires_at)}")
    return Exit.OK


@addressed
def list_tokens(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the tokens that were created and not revoked, without their secrets."""
    with at.connect() as connection:
        tokens = connection.tokens()
    rows = [
        (
            t.id,
            t.name,
            t.user or "",
            t.role,
            "yes" if t.submit_code else "",
            minute_text(t.last_used_at) if t.last_used_at else "never",
            minute_text(t.expires_at),
        )
        for t in tokens
    ]
    documents = [token.json for token in tokens]
    headers = ["ID", "NAME", "USER", "ROLE", "CODE", "LAST USE", "EXPIRES"]
    show_list("tokens", documents, headers, rows, as_json, wide)
    return Exit.OK


@addressed
def edit_token(
    at: Address,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.")],
    submit_code: Annotated[
        bool,
        typer.Option(
            "--submit-code/--no-submit-code",
            help="Give it the right to submit programs and ops, or take it.",
            show_default=False,
        ),
    ],
    as_json: AsJSON = False,
) -> Exit:
    """Give a token the right to submit programs and custom ops, or take it, at once."""
    with at.connect() as connection:
        token = connection.change_token(token_id, submit_code=submit_code)
    if as_json:
        emit(token.json)
    else:
        may = "may submit code" if token.submit_code else "may not submit code"
        show(f"{token.id} ({token.name}) {may}")
    return Exit.OK


@addressed
def revoke_token(
    at: Address,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.")],
    yes: Yes = False,
    as_json: AsJSON = False,
) -> Exit:
    """Revoke a token: the service refuses it at once."""
    with at.connect() as connection:
        found = [token for token in connection.tokens() if token.id == token_id]
        named = f" ({found[0].name}, {found[0].role})" if found else ""
        confirm("revoke", f"the token {token_id}{named}", yes)
        connection.revoke_token(token_id)
    show_done("revoked", token_id, as_json)
    return Exit.OK
