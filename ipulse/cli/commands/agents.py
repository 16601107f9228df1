"""agent token: the service's owner admits agents of other machines."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, addressed
from ipulse.cli.terminal import emit, say, show
from ipulse.client.location import is_local_url
from ipulse_core.errors import InvalidInput, Problem, Unavailable

HOUR_SECONDS = 3600


@addressed
def create_join_token(
    at: Address,
    labels: Annotated[
        str, typer.Option(metavar="NAME=VALUE,..", help="Labels of the agents that join with it.")
    ] = "",
    uses: Annotated[
        int, typer.Option(min=1, max=1000, help="How many agents may join with it.")
    ] = 1,
    hours: Annotated[float, typer.Option(min=0.001, max=720, help="Hours until it expires.")] = 1.0,
    join_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Address of the service for the other machine. [default: its own, if it has TLS]",
        ),
    ] = "",
    as_json: AsJSON = False,
) -> Exit:
    """Print the command with which an agent of another machine joins this service.

    It contains a secret token, which is stored nowhere. Only the owner's token can make one.
    """
    with at.connect() as client:
        made = client.create_join_token(_parsed(labels), uses, round(hours * HOUR_SECONDS))
        reached = client.url
    choices = [join_url, *([reached] if not is_local_url(reached) else []), *made.urls]
    url = next((choice for choice in choices if choice), None)
    if url is None:
        raise Unavailable(
            "this service has no address with HTTPS: start it with `ipulse up --tls --host "
            "ADDRESS`, or name the address of the proxy that adds TLS with --join-url URL"
        )
    command = ["ipulse", "agent", "join", url, "--token", made.secret]
    if made.pin:
        command += ["--pin", made.pin]
    if as_json:
        emit({**made.json, "url": url, "command": command})
        return Exit.OK
    show(shlex.join(command))
    if is_local_url(url):
        say(
            "The service listens on this machine only: restart it with `ipulse up --tls --host "
            "ADDRESS` for agents on other machines.",
            style="yellow",
        )
    how_many = "one agent" if uses == 1 else f"{uses} agents"
    say(f"Run it on the other machine. It admits {how_many} until {made.expires_at:%H:%M}.")
    return Exit.OK


def _parsed(labels: str) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in labels.split(","))):
        name, equals, value = part.partition("=")
        if not equals or name in parsed:
            detail = f"must be NAME=VALUE,NAME=VALUE with each name once; got {labels[:80]!r}"
            raise InvalidInput([Problem("/labels", "bad_label", detail)], detail)
        parsed[name] = value
    return parsed
