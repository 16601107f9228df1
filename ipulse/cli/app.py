"""The command-line application; commands are imported when they are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ipulse.deprecated import translated_command
from ipulse_core.errors import MissingDependency

from . import VARIABLE
from .called import PROGRAM
from .command_list import COMMANDS, GROUP_HELP, GROUPS, MORE, SECTIONS, load
from .default_command import DEFAULT, GroupWithDefault
from .examples import FIRST, epilog, epilog_of
from .exits import MEANINGS, Exit, discard_unwritten, guarded, report_usage
from .terminal import be_quiet, emit, say, show

# The backspace makes click keep the lines as they are.
_CODES = "\n".join(["\b", *(f"{code.value:>3}  {meaning}" for code, meaning in MEANINGS.items())])


class _Commands(Mapping[str, Any]):
    """The commands by their names; each is imported and made when it is looked up."""

    def __iter__(self) -> Iterator[str]:
        yield from COMMANDS
        yield from GROUPS

    def __len__(self) -> int:
        return len(COMMANDS) + len(GROUPS)

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS or name in GROUPS

    def __getitem__(self, name: str) -> Any:
        return _made(name)


class _Root(TyperGroup):
    """The command `ipulse`, whose help needs none of the others."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands without importing one."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command that everybody needs, and the names of the others."""
        for title, lines in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(lines.items(), col_spacing=3)
        with formatter.section("More"):
            formatter.write_dl([(kind, ", ".join(names)) for kind, names in MORE.items()])


@cache
def whole_command() -> Any:
    """Return the application as a command of click, which is made once in a process."""
    app = typer.Typer(
        name=PROGRAM,
        cls=_Root,
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
        as_json: Annotated[
            bool, typer.Option("--json", help="Print the version as JSON.", hidden=True)
        ] = False,
        quiet: Annotated[
            bool, typer.Option("--quiet", "-q", help="Print no hints, only results and errors.")
        ] = False,
    ) -> None:
        be_quiet(quiet)
        if shown:
            guarded(_version)(as_json=as_json)
        elif context.invoked_subcommand is None:
            context.fail("Missing command.")

    root: Any = typer.main.get_group(app)
    root.commands = _Commands()
    return root


def _version(as_json: bool) -> Exit:
    from ipulse_core.version import version

    if as_json:
        emit({"version": version()})
    else:
        show(version())
    return Exit.OK


@cache
def _made(name: str) -> Any:
    """Return a command, or a group of commands, by its name."""
    is_group = name in GROUPS
    app = typer.Typer(
        name=name,
        cls=GroupWithDefault if is_group and DEFAULT in GROUPS[name] else None,
        help=GROUP_HELP[name] if is_group else None,
        epilog=epilog_of(name),
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    if not is_group:
        command = load(COMMANDS[name])
        app.command(name, cls=_class_of(name), epilog=epilog_of(name))(guarded(command))
        return _without_types(typer.main.get_command(app))
    for each, place in GROUPS[name].items():
        app.command(each, epilog=epilog_of(f"{name} {each}"))(guarded(load(place)))
    group = typer.main.get_group(app)
    for command in group.commands.values():
        _without_types(command)
    return group


def _without_types(command: Any) -> Any:
    """Return a command, with N for numbers and no types of Python in its help."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
        elif parameter.metavar is None and parameter.type_descriptor.is_ranged:
            parameter.metavar = "N"
    return command


def _class_of(name: str) -> Any:
    if name == "list":
        from .query_command import QueryCommand

        return QueryCommand
    if name == "emulate":
        from .commands.develop.emulate import ProgramCommand

        return ProgramCommand
    return None


def run(arguments: list[str]) -> int:
    """Run one command; return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _allow_any_character(stream)
    if VARIABLE in os.environ:
        return _complete(arguments)
    is_quiet = bool({"-q", "--quiet"} & {*arguments[:1]})
    words, instead = translated_command(arguments)
    if instead and not is_quiet:
        say(f"{PROGRAM} {instead[0]} is renamed: use {PROGRAM} {instead[1]}", style="yellow")
    try:
        code = whole_command().main(words, prog_name=PROGRAM, standalone_mode=False)
    except typer.TyperException as error:
        return report_usage(error, "--json" in words)
    except MissingDependency as error:  # of the modules that the command imports
        say(f"ipulse: {error}", style="red")
        return int(Exit.UNAVAILABLE)
    except OSError as error:  # while printing the help, which no command does
        say(f"ipulse: {error.strerror}", style="red")
        discard_unwritten()
        return int(Exit.OTHER)
    return code if isinstance(code, int) else int(Exit.OK)


def _complete(arguments: list[str]) -> int:
    """Answer a shell from the whole application, and write the index for later questions."""
    from typer.completion import completion_init  # type: ignore[attr-defined] # not exported

    from .completion_index import write_index

    completion_init()
    try:
        whole_command().main(arguments, prog_name=PROGRAM)
    except SystemExit as ended:
        write_index(whole_command())
        return ended.code if isinstance(ended.code, int) else int(Exit.OTHER)
    return int(Exit.OK)


def _allow_any_character(stream: Any) -> None:
    # A terminal that cannot show a character shows an escape instead of ending the program.
    if hasattr(stream, "reconfigure"):
        with suppress(OSError):  # of what is unwritten, which the next output meets again
            stream.reconfigure(errors="backslashreplace")
