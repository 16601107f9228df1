"""agent join, run and leave: an agent of this machine works for a service elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ipulse.cli import called
from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, DataFolder, Yes
from ipulse.cli.terminal import confirm, emit, say, show
from ipulse_core.errors import NotAuthenticated, Unavailable
from ipulse_core.messages import DEVICE_KINDS

if TYPE_CHECKING:
    from ipulse.stack.agent_home import AgentHome, Membership

AgentHomePath = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="DIR",
        help="Folder of the agent's state. [env: IPULSE_AGENT_HOME] "
        "[default: ~/.local/state/ipulse-agent]",
    ),
]


def _known_kinds(value: str | None) -> str | None:
    """Refuse other kinds of devices before a use of the join token is taken."""
    chosen = {part.strip() for part in (value or "").split(",") if part.strip()}
    if value is not None and (not chosen or not chosen <= set(DEVICE_KINDS)):
        raise typer.BadParameter(f"must list some of {', '.join(DEVICE_KINDS)}")
    return value


Devices = Annotated[
    str | None,
    typer.Option(
        metavar="KINDS",
        callback=_known_kinds,
        envvar="IPULSE_DEVICE_KINDS",
        show_envvar=False,
        help="Kinds of devices that jobs may use here. [env: IPULSE_DEVICE_KINDS] "
        "[default: cpu,emulator]",
    ),
]


def join_service(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Address of the service, with https://.")
    ],
    token: Annotated[str, typer.Option(metavar="TOKEN", help="The join token.")],
    pin: Annotated[
        str,
        typer.Option(metavar="sha256:DIGEST", help="Digest of the service's own certificate."),
    ] = "",
    ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Authority of the service's certificate (PEM).",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the agent. [default: the machine's name]"),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Take the name of an agent that has stopped, at once."),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait until the service answers and the name is free."),
    ] = False,
    devices: Devices = None,
    data: DataFolder = None,
    home: AgentHomePath = None,
    as_json: AsJSON = False,
) -> Exit:
    """Join a service with an agent of this machine, and run jobs until Ctrl-C.

    `ipulse agent token` on the service's machine prints this command with its arguments. The agent
    opens one kind of connection: HTTPS to the service. Later, `ipulse agent run` starts it again.
    """
    from ipulse.client import joining  # other commands need not import it
    from ipulse.stack.running_agent import require_agent

    require_agent()
    with _opened(home) as folder:
        joining.join(
            folder,
            url,
            token,
            pin,
            ca,
            name,
            replace=replace,
            on_wait=_say_once() if wait else None,
        )
    # Every user of this machine can read the arguments of a process, and the token may have uses
    # left: the process that stays has other arguments.
    options = [*_given("--home", home), *_given("--devices", devices), *_given("--data", data)]
    called.replace_process("agent", "run", *options, *(["--json"] if as_json else []))


def run_joined(
    devices: Devices = None,
    data: DataFolder = None,
    home: AgentHomePath = None,
    as_json: AsJSON = False,
) -> Exit:
    """Run the agent that has joined a service, until Ctrl-C."""
    from ipulse.stack.agent_home import Membership
    from ipulse.stack.running_agent import require_agent

    require_agent()
    with _opened(home) as folder:
        membership = Membership.read(folder.membership_file)
        return _run(folder, membership, devices, data, as_json)


def leave_service(home: AgentHomePath = None, yes: Yes = False, as_json: AsJSON = False) -> Exit:
    """Leave the service: it forgets this machine's agent. Stop the agent first."""
    from ipulse.client import joining
    from ipulse.stack.agent_home import Membership

    with _opened(home) as folder:
        membership = Membership.read(folder.membership_file)
        what = f"the agent {membership.name} from {membership.url} and its token from this machine"
        confirm("remove", what, yes)
        try:
            joining.leave(membership)
        except NotAuthenticated as error:
            say(f"The service did not know the agent any more: {error.message}")
        except Unavailable as error:
            raise Unavailable(
                f"{error.message}. Try again, or remove the agent on the service's machine with "
                f"`ipulse agent remove {membership.name}` and delete {folder.membership_file}"
            ) from error
        folder.forget()
    if as_json:
        emit({"left": membership.url, "name": membership.name})
    else:
        show(f"{membership.name} has left {membership.url}")
    return Exit.OK


def _say_once() -> Callable[[str], None]:
    """Return a function that says why the command waits, when that has changed."""
    said = ""

    def tell(why: str) -> None:
        nonlocal said
        if why != said:
            say(f"Waiting (Ctrl-C ends this): {why}")
        said = why

    return tell


def _given(option: str, value: Path | str | None) -> list[str]:
    return [] if value is None else [f"{option}={value}"]


def _run(
    home: AgentHome, membership: Membership, devices: str | None, data: Path | None, as_json: bool
) -> Exit:
    from ipulse.stack.running_agent import run_agent

    more = {} if devices is None else {"IPULSE_DEVICE_KINDS": devices}
    if data is not None:
        more["IPULSE_DATA"] = str(data)
    log = home.log("agent").path

    def on_ready() -> None:
        if as_json:
            emit({"name": membership.name, "url": membership.url, "log": str(log)}, indent=0)
        else:
            show(f"{membership.name} waits for jobs of {membership.url}", style="bold")

    if not as_json:
        say(f"Starting the agent; its log is {log}. Ctrl-C stops it.")
    run_agent(home, more, on_ready, lambda sentence: say(sentence, style="yellow"))
    return Exit.OK


@contextmanager
def _opened(home: Path | None) -> Iterator[AgentHome]:
    from ipulse.stack.agent_home import AgentHome

    folder = AgentHome.at(home)
    folder.open()
    try:
        yield folder
    finally:
        folder.close()
