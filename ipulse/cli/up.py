"""up: the whole stack on this machine, until told to stop."""

from __future__ import annotations

import ipaddress
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from ipulse.client.location import home_folder
from ipulse.errors import InvalidInput, Problem

from .exits import Exit
from .options import AsJSON, Home
from .signals import terminable
from .terminal import emit, say, show, show_facts

if TYPE_CHECKING:
    from ipulse.stack import Stack

PORT = 8470


def up(
    home: Home = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = PORT,
    agents: Annotated[int, typer.Option(min=1, max=64, help="Jobs that run at once.")] = 1,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Answer other machines too, without encryption."),
    ] = False,
    data: Annotated[
        Optional[Path],
        typer.Option(
            metavar="DIR",
            envvar="IPULSE_DATA",
            exists=True,
            file_okay=False,
            resolve_path=True,
            help="Directory with the recorded data that specs may name.",
        ),
    ] = None,
    emulated_ipus: Annotated[
        Optional[int],
        typer.Option(
            min=1,
            max=64,
            envvar="IPULSE_EMULATED_IPUS",
            help="Emulated IPUs that all agents share; 4 unless given, as an IPU-M2000 has.",
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Run a stack on this machine, until Ctrl-C.

    A stack is the service, its queue and its agents. Jobs and results stay in the home and are
    there again the next time.
    """
    if not allow_remote and not _is_loopback(host):
        detail = f"{host} would answer other machines without encryption: add --allow-remote"
        raise InvalidInput([Problem("/host", "not_loopback", detail)], "refused to listen there")
    from ipulse.stack import Stack  # what starts a stack is of no use to the other commands

    more = {} if data is None else {"IPULSE_DATA": str(data)}
    if emulated_ipus is not None:
        more["IPULSE_EMULATED_IPUS"] = str(emulated_ipus)
    stack = Stack(home_folder(home, os.environ), host, port, agents, allow_remote, more)
    with terminable():
        stack.start()
        try:
            # Who reads the announcement may stop us before the wait has begun: no other ending.
            with suppress(KeyboardInterrupt):
                _announce(stack, as_json, "" if home is None else f" --home {home}")
                stack.wait()
        finally:
            say("Stopping ...")
            stack.stop()
    return Exit.OK


def _announce(stack: Stack, as_json: bool, where: str) -> None:
    if as_json:
        emit({"url": stack.url, "token_file": str(stack.token_path), "pid": os.getpid()}, indent=0)
        return
    show(f"IPUlse answers at {stack.url}", style="bold")
    show_facts(
        [
            ("token", str(stack.token_path)),
            ("submit", f"ipulse submit FILE --watch{where}"),
            ("stop", "Ctrl-C"),
        ]
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
