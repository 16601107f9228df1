"""token create, list and revoke: who else may ask the service, for what, and until when."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from .exits import Exit
from .options import Address, AsJSON, addressed
from .terminal import emit, say, show, show_table

DAY_SECONDS = 86_400


@addressed
def create_token(
    at: Address,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whom or what it is for.")],
    role: Annotated[
        str,
        typer.Option(metavar="ROLE", help="reader looks, user also changes, worker takes jobs."),
    ] = "reader",
    days: Annotated[int, typer.Option(min=1, max=366, help="How long it is good for.")] = 30,
    as_json: AsJSON = False,
) -> Exit:
    """Hand out a token.

    It is printed once and kept nowhere. This takes the owner's token.
    """
    with at.connect() as client:
        token = client.create_token(name, role, days * DAY_SECONDS)
    if as_json:
        emit({"token": token.secret, "about": token.json})
    else:
        show(token.secret)
        say(f"{token.id}: a {token.role}, until {_day(token.expires_at)}")
    return Exit.OK


@addressed
def list_tokens(at: Address, as_json: AsJSON = False) -> Exit:
    """The tokens that were handed out and not revoked, without their secrets."""
    with at.connect() as client:
        tokens = client.tokens()
    if as_json:
        emit({"tokens": [token.json for token in tokens]})
        return Exit.OK
    rows = [(one.id, one.name, one.role, _day(one.expires_at)) for one in tokens]
    show_table(["ID", "NAME", "ROLE", "EXPIRES"], rows)
    return Exit.OK


@addressed
def revoke_token(
    at: Address,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.")],
    as_json: AsJSON = False,
) -> Exit:
    """Make a token worthless from its next request on."""
    with at.connect() as client:
        client.revoke_token(token_id)
    if as_json:
        emit({"revoked": token_id})
    else:
        show(f"revoked {token_id}")
    return Exit.OK


def _day(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")
