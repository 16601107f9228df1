"""The commands and their names, in the order in which one meets them."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Callable, Dict, List

import typer

from ipulse import __version__
from ipulse.cli.crosscheck import compare

from .custom_ops import check_library
from .demo import demo
from .doctor import doctor
from .emulate import ProgramCommand, emulate
from .executables import list_executables, prune_executables
from .exits import MEANINGS, Exit, guarded
from .following import logs, watch
from .jobs import cancel, delete, list_jobs, pause, resume, status
from .options import AsJSON
from .results import artifacts, download, profile
from .selftest import selftest
from .submitting import submit, validate
from .terminal import emit, say, show
from .tokens import create_token, list_tokens, revoke_token
from .up import up


def version(as_json: AsJSON = False) -> Exit:
    """The version of IPUlse."""
    if as_json:
        emit({"version": __version__})
    else:
        show(__version__)
    return Exit.OK


COMMANDS: Dict[str, Callable[..., int]] = {
    "up": up,
    "demo": demo,
    "submit": submit,
    "validate": validate,
    "list": list_jobs,
    "status": status,
    "watch": watch,
    "logs": logs,
    "artifacts": artifacts,
    "download": download,
    "profile": profile,
    "cancel": cancel,
    "pause": pause,
    "resume": resume,
    "delete": delete,
    "compare": compare,
    "emulate": emulate,
    "doctor": doctor,
    "selftest": selftest,
    "version": version,
}

# Commands of a group are named with it: `ipulse ops check`.
GROUPS: Dict[str, Dict[str, Callable[..., Exit]]] = {
    "cache": {"list": list_executables, "prune": prune_executables},
    "ops": {"check": check_library},
    "token": {"create": create_token, "list": list_tokens, "revoke": revoke_token},
}
GROUP_HELP = {
    "cache": "Look at the compiled programs that this machine keeps.",
    "ops": "Look at libraries of custom ops.",
    "token": "Hand out tokens, and take them back.",
}

# The backspace keeps the lines as they are.
_CODES = "\n".join(["\b", *(f"{code.value:>3}  {meaning}" for code, meaning in MEANINGS.items())])


def make_app() -> typer.Typer:
    """The command line as a value."""
    app = typer.Typer(
        name="ipulse",
        help="Train spiking networks on a remote service.",
        epilog=f"Exit codes:\n\n{_CODES}",
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def ipulse(
        context: typer.Context,
        shown: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    ) -> None:
        if shown:
            guarded(version)()

    for name, command in COMMANDS.items():
        kind = ProgramCommand if command is emulate else None
        app.command(name, cls=kind)(guarded(command))
    for group, commands in GROUPS.items():
        below = typer.Typer(help=GROUP_HELP[group], no_args_is_help=True, rich_markup_mode=None)
        for name, command in commands.items():
            below.command(name)(guarded(command))
        app.add_typer(below, name=group)
    return app


def run(arguments: List[str]) -> int:
    """Runs one command; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _allow_any_character(stream)
    try:
        typer.main.get_command(make_app()).main(arguments, prog_name="ipulse")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(Exit.OTHER)
    except OSError as error:  # of the help, which no command writes
        say(f"ipulse: {error.strerror}", style="red")
        return int(Exit.OTHER)
    return int(Exit.OK)


def _allow_any_character(stream: Any) -> None:
    # A terminal that cannot show a character shows an escape instead of ending the program.
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
