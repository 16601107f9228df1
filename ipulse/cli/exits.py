"""Exit codes of the commands, and the messages of errors: a sentence, never a traceback."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from typing import Any

import typer
from typer.models import OptionInfo

from ipulse_core import errors
from ipulse_core.errors import InvalidInput, IPUlseError, Problem

from .signals import terminable
from .terminal import Declined, ReaderGone, emit, say


class Exit(IntEnum):
    """The exit codes; `MEANINGS` describes each."""

    OK = 0
    JOB_FAILED = 1
    INVALID = 2
    NOT_FOUND = 3
    NOT_PERMITTED = 4
    UNAVAILABLE = 5
    OTHER = 6
    CONFLICT = 7
    INTERRUPTED = 130
    READER_GONE = 141


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done",
    Exit.JOB_FAILED: "the job failed or was cancelled",
    Exit.INVALID: "wrong usage, an invalid spec, or a file that cannot be read or written",
    Exit.NOT_FOUND: "the job or the file of a job does not exist",
    Exit.NOT_PERMITTED: "the token is missing, wrong, or lacks the permission",
    Exit.UNAVAILABLE: "no service answers, or a dependency is not installed",
    Exit.OTHER: "another error of the service or of this machine, or a timeout",
    Exit.CONFLICT: "the present state does not allow it, such as a job that has ended",
    Exit.INTERRUPTED: "interrupted by Ctrl-C, SIGTERM or a hang-up",
    Exit.READER_GONE: "the reader of the output closed it",
}

_PLACE_IN_LIST = re.compile(r"/\d+$")  # an option that is given several times, or has a list
_PARAMETER = re.compile(r"\bstart_mode=(\w+)")

# The first class that matches an error decides.
_CODES: tuple[tuple[type[Exception], Exit], ...] = (
    (errors.InvalidInput, Exit.INVALID),
    (errors.NotFound, Exit.NOT_FOUND),
    (errors.NotAuthenticated, Exit.NOT_PERMITTED),
    (errors.NotPermitted, Exit.NOT_PERMITTED),
    (errors.Unavailable, Exit.UNAVAILABLE),
    (errors.Conflict, Exit.CONFLICT),
    # Paths come from the user.
    *((kind, Exit.INVALID) for kind in (FileNotFoundError, FileExistsError, PermissionError)),
    *((kind, Exit.INVALID) for kind in (IsADirectoryError, NotADirectoryError)),
)


def guarded(command: Callable[..., int]) -> Callable[..., None]:
    """Wrap a command so that it ends the program with an exit code, whatever happens.

    Exit codes are those of `Exit`, except for a command that passes on another program's. With
    `--json` an error is also printed as one JSON object on standard output.
    """

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        raise typer.Exit(_outcome(command, arguments, options))

    return run


def _outcome(
    command: Callable[..., int], arguments: tuple[Any, ...], options: dict[str, Any]
) -> int:
    try:
        try:
            with terminable():
                return command(*arguments, **options)
        except KeyboardInterrupt:
            say("Interrupted.")
            return Exit.INTERRUPTED
        except Declined:
            say("Nothing was changed.")
            return Exit.INTERRUPTED
        except (IPUlseError, TimeoutError, OSError) as error:
            return _report(error, command, bool(options.get("as_json")))
    except (ReaderGone, BrokenPipeError):
        _discard_output()
        return Exit.READER_GONE
    except Exception as error:  # noqa: BLE001  # an unexpected error is reported without a traceback
        return _report_unexpected(error)


def _report(error: Exception, command: Callable[..., int], as_json: bool) -> Exit:
    if isinstance(error, BrokenPipeError):
        raise error
    if _debugging():
        traceback.print_exc()
    code = getattr(error, "code", "error")
    message = error.message if isinstance(error, IPUlseError) else _sentence(error)
    problems = error.problems if isinstance(error, InvalidInput) else ()
    if as_json:
        body = {"code": code, "message": message, "problems": [p.to_json() for p in problems]}
        with suppress(OSError):  # the disk may be full, which may be the error
            emit({"error": body})
    say(f"ipulse: {as_options(message)}", style="red")
    for problem in problems:
        if str(problem) != message and problem.detail != message:
            say(f"  {_placed(problem, command)}", style="none")  # not left out with --quiet
    discard_unwritten()
    return exit_of(error)


def _placed(problem: Problem, command: Callable[..., int]) -> str:
    """Return a problem with its place: an option of the command, or a field of the spec."""
    name = problem.pointer.removeprefix("/query/").removeprefix("/")
    if name.isupper():  # an argument, as in the usage of the command
        return as_options(problem.detail)
    name = _PLACE_IN_LIST.sub("", name)
    options = _option_names(command)
    if name == "q" and "query" in inspect.signature(command).parameters:
        options["q"] = options.get("query", "the query")
    text = f"{options[name]}: {problem.detail}" if name in options else str(problem)
    return as_options(text)


def as_options(text: str) -> str:
    """Return a message of the service with the options of the command line for its parameters."""
    return _PARAMETER.sub(r"--start-mode \1", text)


def _option_names(command: Callable[..., int]) -> dict[str, str]:
    """Return the options of a command by the names of its parameters."""
    found = {}
    for name, parameter in inspect.signature(command).parameters.items():
        for given in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(given, OptionInfo):
                # Typer takes the first name as a default, until it builds the command.
                names = (given.default, *(given.param_decls or ()))
                flags = [name for name in names if str(name).startswith("--")]
                found[name] = str(flags[0]).partition("/")[0] if flags else f"--{name}"
    return {name: flag.replace("_", "-") for name, flag in found.items()}


def report_usage(error: typer.TyperException, as_json: bool) -> int:
    """Report what is wrong with a command line, in the style of all errors."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        say(error.format_message(), style="none")
        return int(Exit.INVALID)
    message = error.format_message()
    if as_json:
        with suppress(OSError):
            emit({"error": {"code": "usage", "message": message, "problems": []}})
    say(f"ipulse: {message}", style="red")
    if context is not None:
        say(f"  {' '.join(context.get_usage().split())}", style="none")
        say(f"  `{context.command_path} --help` shows all options.", style="none")
    return int(Exit.INVALID)


def exit_of(error: Exception) -> Exit:
    """Return the exit code for an error."""
    return next((exit for cls, exit in _CODES if isinstance(error, cls)), Exit.OTHER)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        path = error.filename2 or error.filename  # of a renaming, the target
        return f"{path}: {error.strerror}" if path else error.strerror
    return str(error)


def _report_unexpected(error: Exception) -> Exit:
    if _debugging():
        traceback.print_exc()
    say(f"ipulse: unexpected error, {type(error).__name__}: {error}", style="red")
    if not _debugging():
        say("Run it again with IPULSE_DEBUG=1 for the traceback, and please report it.")
    return Exit.OTHER


def _debugging() -> bool:
    return os.environ.get("IPULSE_DEBUG", "") not in ("", "0")


def discard_unwritten() -> None:
    """Discard buffered output that cannot be written: its error would change the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()


def _discard_output() -> None:
    # The buffered rest has no reader; without this, Python would print an error at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
