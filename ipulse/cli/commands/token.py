"""token create, list and revoke: access for other people and programs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, addressed
from ipulse.cli.terminal import emit, say, show, show_table

DAY_SECONDS = 86_400


@addressed
def create_token(
    at: Address,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the person or program that uses it.")
    ],
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE",
            help="reader: read; user: also submit and change jobs; worker: run jobs.",
        ),
    ] = "reader",
    days: Annotated[int, typer.Option(min=1, max=366, help="Days until it expires.")] = 30,
    as_json: AsJSON = False,
) -> Exit:
    """Create a token and print it.

    It is printed once and stored nowhere. Only the owner's token can create others.
    """
    with at.connect() as client:
        token = client.create_token(name, role, days * DAY_SECONDS)
    if as_json:
        emit({"token": token.secret, "about": token.json})
    else:
        show(token.secret)
        say(f"{token.id}: role {token.role}, expires {_day(token.expires_at)}")
    return Exit.OK


@addressed
def list_tokens(at: Address, as_json: AsJSON = False) -> Exit:
    """List the tokens that were created and not revoked, without their secrets."""
    with at.connect() as client:
        tokens = client.tokens()
    if as_json:
        emit({"tokens": [token.json for token in tokens]})
        return Exit.OK
    rows = [(token.id, token.name, token.role, _day(token.expires_at)) for token in tokens]
    show_table(["ID", "NAME", "ROLE", "EXPIRES"], rows)
    return Exit.OK


@addressed
def revoke_token(
    at: Address,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.")],
    as_json: AsJSON = False,
) -> Exit:
    """Revoke a token: the service refuses it at once."""
    with at.connect() as client:
        client.revoke_token(token_id)
    if as_json:
        emit({"revoked": token_id})
    else:
        show(f"revoked {token_id}")
    return Exit.OK


def _day(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")
