"""The command-line application, made of the list of commands."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Annotated, Any

import typer

from ipulse.cli.commands.develop.emulate import ProgramCommand, emulate
from ipulse.cli.commands.jobs.listing import list_jobs
from ipulse.cli.commands.jobs.status import priority
from ipulse.cli.query_command import QueryCommand
from ipulse.deprecated import FORMER_GROUPS

from . import VARIABLE
from .command_list import COMMANDS, GROUP_HELP, GROUPS, version
from .completing import PROGRAM, prepare_completion
from .completion_index import write_index
from .default_command import DEFAULT, GroupWithDefault
from .examples import FIRST, epilog, epilog_of
from .exits import MEANINGS, Exit, discard_unwritten, guarded
from .terminal import be_quiet, say

# The backspace makes click keep the lines as they are.
_CODES = "\n".join(["\b", *(f"{code.value:>3}  {meaning}" for code, meaning in MEANINGS.items())])


def make_app() -> typer.Typer:
    """Make the command-line application."""
    app = typer.Typer(
        name=PROGRAM,
        help="Train spiking neural networks on a remote service.",
        epilog=f"{epilog(FIRST)}\n\nExit codes:\n\n{_CODES}",
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
        quiet: Annotated[
            bool, typer.Option("--quiet", "-q", help="Print no hints, only results and errors.")
        ] = False,
    ) -> None:
        be_quiet(quiet)
        if shown:
            guarded(version)()

    for name, command in COMMANDS.items():
        kind = {emulate: ProgramCommand, list_jobs: QueryCommand}.get(command)
        # A negative number is no option.
        context = {"ignore_unknown_options": True} if command is priority else None
        app.command(name, cls=kind, epilog=epilog_of(name), context_settings=context)(
            guarded(command)
        )
    for group in GROUPS:
        app.add_typer(_group(group), name=group)
    for former, group in FORMER_GROUPS.items():
        app.add_typer(_group(group, former), name=former, hidden=True)
    return app


def _group(name: str, former: str = "") -> typer.Typer:
    def warn(context: typer.Context) -> None:
        command = context.invoked_subcommand
        say(f"{PROGRAM} {former} is renamed: use {PROGRAM} {name} {command}", style="yellow")

    group = typer.Typer(
        callback=warn if former else None,
        cls=GroupWithDefault if DEFAULT in GROUPS[name] else None,
        help=GROUP_HELP[name],
        epilog=epilog_of(name),
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command_name, command in GROUPS[name].items():
        epilog = epilog_of(f"{name} {command_name}")
        group.command(command_name, epilog=epilog)(guarded(command))
    return group


@cache
def whole_command() -> Any:
    """Return the application as a command of click, which is made once in a process."""
    return typer.main.get_command(make_app())


def run(arguments: list[str]) -> int:
    """Run one command; return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _allow_any_character(stream)
    prepare_completion()
    try:
        whole_command().main(arguments, prog_name=PROGRAM)
    except SystemExit as ended:
        if VARIABLE in os.environ:
            write_index(whole_command())
        return ended.code if isinstance(ended.code, int) else int(Exit.OTHER)
    except OSError as error:  # while printing the help, which no command does
        say(f"ipulse: {error.strerror}", style="red")
        discard_unwritten()
        return int(Exit.OTHER)
    return int(Exit.OK)


def _allow_any_character(stream: Any) -> None:
    # A terminal that cannot show a character shows an escape instead of ending the program.
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
