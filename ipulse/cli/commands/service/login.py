"""login and logout: the service that commands of this user talk to."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, Authority, TokenFile
from ipulse.cli.terminal import emit, say, show
from ipulse.client import Connection
from ipulse.client.device_login import DeviceClient
from ipulse.client.location import checked_address, find_service
from ipulse.client.login_file import Login, forget_login, login_path, store_login
from ipulse.stack import tls
from ipulse_core.errors import NotAuthenticated


def login(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the service.")],
    token_file: TokenFile = None,
    by_page: Annotated[
        bool | None,
        typer.Option(
            "--page/--token",
            help="Confirm a code in the page, where you are signed in, or type a token. On a "
            "terminal the page is the default.",
            show_default=False,
        ),
    ] = None,
    ca: Authority = None,
    as_json: AsJSON = False,
) -> Exit:
    """Sign in to a service: later commands of this user need no address and no token.

    Open the printed address and confirm the code there. With --token a token is asked for; without
    a terminal it is read from standard input. It is stored in ~/.config/ipulse/login.json, which
    only you can read. `--url`, IPULSE_URL and ipulse.toml come first. `ipulse logout` removes it;
    then commands find the local stack of `ipulse up`.
    """
    if token_file is not None:
        secret = None
    elif by_page or (by_page is None and sys.stdin.isatty()):
        secret = _confirmed(checked_address(url), ca)
    else:
        secret = _read_token()
    found = find_service(url, secret, token_file, ca=ca)
    with Connection(found.url, secret, token_file=token_file, ca=ca) as connection:
        next(iter(connection.jobs(page_size=1)), None)  # checks the token
    authority = "" if ca is None else str(Path(ca).resolve())
    path = store_login(Login(found.url, found.token, authority), os.environ)
    if as_json:
        emit({"url": found.url, "stored": str(path)})
    else:
        show(f"signed in to {found.url}")
        say(f"The token is in {path}. Next: ipulse list")
    return Exit.OK


def logout(as_json: AsJSON = False) -> Exit:
    """Forget the service and the token of `ipulse login`. The token itself stays valid."""
    former = forget_login(os.environ)
    url = None if former is None else former.url
    if as_json:
        emit({"url": url})
    elif url is None:
        say(f"There was no login in {login_path(os.environ)}.")
    else:
        show(f"signed out of {url}")
        say("The token stays valid: `ipulse token revoke` ends it.")
    return Exit.OK


def _confirmed(url: str, ca: Path | None) -> str:
    """Return a new token after the person has confirmed its code in the page."""
    authority = ca or os.environ.get("IPULSE_CA")
    with DeviceClient(url, tls.authorities(authority) if authority else None) as client:
        login = client.begin()
        say(f"Open {login.address}")
        say(f"and confirm the code {login.user_code}.")
        return client.wait(login)


def _read_token() -> str:
    if sys.stdin.isatty():
        text: str = typer.prompt("Token", hide_input=True, err=True)
    else:
        text = sys.stdin.readline(4096)
    if not text.strip():
        raise NotAuthenticated("no token was given: paste it, or name its file with --token-file")
    return text.strip()
