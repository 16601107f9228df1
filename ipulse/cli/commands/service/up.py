"""up: runs a local stack until it is stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ipulse.cli.called import program
from ipulse.cli.display.elapsed import elapsed
from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, DataFolder, Home
from ipulse.cli.pages import sign_in_address
from ipulse.cli.terminal import emit, remarks, say, show, show_facts
from ipulse.client import Connection
from ipulse.stack.home import REACHED_AS, home_folder
from ipulse.stack.listening import bracketed, is_loopback, plain_host
from ipulse_core.errors import InvalidInput, IPUlseError, Problem
from ipulse_core.sandbox.state import BUBBLEWRAP, sandbox_state
from ipulse_core.sandbox.unavailable import SandboxSilent

if TYPE_CHECKING:
    from ipulse.stack.stack import Stack

PORT = 8470
_OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")  # always allowed in the Host header
_OWNER_CODE = "IPULSE_OWNER_SUBMITS_CODE"


def up(
    home: Home = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            envvar="IPULSE_HOST",
            show_envvar=False,
            parser=plain_host,
            help="Address to listen on. [env: IPULSE_HOST]",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            envvar="IPULSE_PORT",
            show_envvar=False,
            help="Port; 0 chooses a free one. [env: IPULSE_PORT]",
        ),
    ] = PORT,
    agents: Annotated[
        int,
        typer.Option(
            min=0, max=64, help="Number of agents: jobs that run at once on this machine."
        ),
    ] = 1,
    tls: Annotated[
        bool,
        typer.Option("--tls", help="Use TLS with a self-signed certificate."),
    ] = False,
    tls_cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Use TLS with this certificate and its chain (PEM)."),
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate's private key (PEM).")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A host name of this machine for clients; may be repeated."
        ),
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Listen for other machines without encryption."),
    ] = False,
    no_code: Annotated[
        bool,
        typer.Option(
            "--no-code",
            help="Refuse programs and custom ops from the owner's token, too.",
        ),
    ] = False,
    data: DataFolder = None,
    emulated_ipus: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            envvar="IPULSE_EMULATED_IPUS",
            show_envvar=False,
            help="Emulated IPUs that all agents share. [env: IPULSE_EMULATED_IPUS] "
            "[default: 4, as in an IPU-M2000]",
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Run a stack on this machine until Ctrl-C.

    A stack is the service, its message queue and its agents. Jobs and results stay in the home
    folder and are available the next time. A part that ends is started again.
    """
    if (tls_cert is None) is not (tls_key is None) or (tls and tls_cert):
        detail = "--tls-cert and --tls-key must be given together, and without --tls"
        raise InvalidInput([Problem("/tls-cert", "incomplete", detail)], detail)
    if not (allow_remote or tls or tls_cert or is_loopback(host)):
        detail = (
            f"{host} is open to other machines, without encryption: add --tls, or --tls-cert and "
            "--tls-key, or --allow-remote if that is intended"
        )
        raise InvalidInput(
            [Problem("/host", "not_loopback", detail)], "refused to listen without encryption"
        )
    from ipulse.stack.stack import Stack  # other commands need not import it

    more = {} if data is None else {"IPULSE_DATA": str(data)}
    if emulated_ipus is not None:
        more["IPULSE_EMULATED_IPUS"] = str(emulated_ipus)
    more |= _owner_code(host, no_code)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        say(
            "Warning: this stack runs as root, and with it the trainings and whatever reads files "
            "of users: run it as a user of its own, which needs no rights.",
            style="yellow",
        )
    names = list(map(plain_host, name or ()))
    if host not in REACHED_AS and not is_loopback(host) and host not in names:
        names.append(host)  # other machines use the address itself
    if names:
        more["IPULSE_ALLOWED_HOSTS"] = ",".join([*_OWN_NAMES, *map(bracketed, names)])
    folder = home_folder(home, os.environ)
    certificate = _certificate(folder, tls, tls_cert, tls_key, names)
    database_url = os.environ.get("IPULSE_DATABASE_URL", "")
    stack = Stack(folder, host, port, agents, allow_remote, more, certificate, database_url)
    with elapsed("Starting Redis, the service and the agents", remarks()):
        stack.start()
    try:
        # A reader of the announcement may send Ctrl-C before the wait has begun.
        with suppress(KeyboardInterrupt):
            _announce(stack, as_json, "" if home is None else f" --home {home}")
            stack.wait(lambda sentence: say(sentence, style="yellow"))
    finally:
        say("Stopping ...")
        stack.stop()
    return Exit.OK


def _certificate(
    folder: Path,
    is_made_here: bool,
    cert: Path | None,
    key: Path | None,
    names: Sequence[str],
) -> tuple[Path, Path] | None:
    """Return the files for TLS, if any. Raises InvalidInput for files that cannot be used."""
    from ipulse.stack import tls

    if is_made_here:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        cert, key = tls.self_signed(folder, names)
    if cert is None or key is None:
        return None
    tls.check(cert, key)
    warning = tls.expiry_warning(cert)
    if warning:
        remedy = f"; remove {cert} to make another" if is_made_here else ""
        say(f"Warning: {warning}{remedy}.", style="yellow")
    return cert.absolute(), key.absolute()


def _announce(stack: Stack, as_json: bool, home_option: str) -> None:
    ca = stack.certificate_path
    if as_json:
        facts = {"url": stack.url, "token_file": str(stack.token_path), "pid": os.getpid()}
        emit({**facts, **({"certificate": str(ca)} if ca else {})}, indent=0)
        return
    show(f"IPUlse is ready at {stack.url}", style="bold")
    show_facts(
        [
            ("page", _page(stack)),
            ("token", str(stack.token_path)),
            *([("certificate", str(ca))] if ca else []),
            ("submit", f"{program()} submit FILE --watch{home_option}"),
            ("stop", "Ctrl-C"),
        ]
    )


def _page(stack: Stack) -> str:
    """Return the address that signs a browser in, or that of the form for a token."""
    try:
        with Connection(
            stack.url, token_file=stack.token_path, ca=stack.certificate_path, retries=0
        ) as connection:
            return sign_in_address(connection)
    except IPUlseError:  # such as a certificate for the names of this machine elsewhere
        return f"{stack.url.rstrip('/')}/login"


def _owner_code(host: str, no_code: bool) -> dict[str, str]:
    """Return the variable that gives or takes the right of the owner's token to submit code."""
    if no_code:
        return {_OWNER_CODE: "0"}
    if _OWNER_CODE not in os.environ and is_loopback(host) and _has_sandbox():
        return {_OWNER_CODE: "1"}
    return {}


def _has_sandbox() -> bool:
    """Return whether code of users would run in a sandbox on this machine."""
    try:
        return sandbox_state(os.environ).driver == BUBBLEWRAP
    except SandboxSilent:
        return False
