"""Names of a former release that are accepted for one more, with a warning.

Modules are named as text, so that this package lies below all others.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeVar, cast

_Method = TypeVar("_Method", bound=Callable[..., Any])

# Commands, and what is typed in their place; "=" at the end takes the last argument.
FORMER_COMMANDS = {
    "agent resume": "agent drain --end",
    "agent revoke": "agent token --revoke=",
    "agent tokens": "agent token --list",
    "artifacts": "download --list",
    "ops": "op",
    "priority": "edit --priority=",
    "version": "--version",
    "wait": "watch --quiet",
}
_OPTIONS_WITH_VALUES = frozenset({"--url", "--token-file", "--home", "--ca"})  # of all commands

_MOVED = (
    *("AsyncConnection", "AsyncJobHandle", "BestEpoch", "Connection", "FileHandle", "FoundJobs"),
    *("JobComparison", "JobFailed", "JobFiles", "JobHandle", "JobProfile", "LogLine"),
    *("SampleSpikes", "SweepHandle", "compare", "connect", "connect_async"),
)
# Names of modules: the module that has them now, and what to use in their place.
FORMER_NAMES = {
    "ipulse.client": {
        "AsyncClient": ("ipulse.client.former", "ipulse.connect_async"),
        "Client": ("ipulse.client.former", "ipulse.connect"),
    },
    "ipulse.handles": {
        **{name: ("ipulse.client", f"ipulse.client.{name}") for name in _MOVED},
        "DataLibrary": ("ipulse.client.former", "ipulse.client.Connection"),
    },
}

# Members of connections: the functions of ipulse.client.former that return them, and what to
# use in their place.
FORMER_MEMBERS = {
    "client": ("client_of", "the methods of the connection"),
    "data": ("data_library_of", "push_dataset, datasets, dataset and delete_dataset"),
    "open_sweep": ("sweep_of", "sweep"),
}


def translated_command(arguments: Sequence[str]) -> tuple[list[str], tuple[str, str] | None]:
    """Return the arguments of the command line in today's words.

    The second value is what was renamed, and what it is called now; None if nothing was.
    """
    first = next((at for at, word in enumerate(arguments) if not word.startswith("-")), 0)
    before, words = list(arguments[:first]), list(arguments[first:])
    for count in (2, 1):
        former = " ".join(words[:count])
        if former in FORMER_COMMANDS:
            today, rest = FORMER_COMMANDS[former], words[count:]
            new = today.split()
            if today.endswith("="):
                at = _last_argument(rest)
                if at is None:  # the command says what it needs
                    new = new[:-1]
                else:
                    new[-1] += rest.pop(at)
            shown = f"{today.rstrip('=')}{' ...' if today.endswith('=') else ''}"
            return [*before, *new, *rest], (former, shown)
    return list(arguments), None


def _last_argument(words: Sequence[str]) -> int | None:
    for at in range(len(words) - 1, -1, -1):
        is_value = at > 0 and words[at - 1] in _OPTIONS_WITH_VALUES
        is_argument = not words[at].startswith("-") or words[at][1:].isdecimal()
        if is_argument and not is_value:
            return at
    return None


def former_name(module: str, name: str) -> Any:
    """Return what a module had under a name. Raises AttributeError if it never had the name."""
    if name not in FORMER_NAMES[module]:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    place, instead = FORMER_NAMES[module][name]
    _warn(f"{module}.{name}", instead, 4)
    return getattr(import_module(place), name)


def former_member(connection: Any, name: str) -> Any:
    """Return what a connection had under a name. Raises AttributeError if it never had the name."""
    if name not in FORMER_MEMBERS:
        raise AttributeError(f"{type(connection).__name__!r} object has no attribute {name!r}")
    function, instead = FORMER_MEMBERS[name]
    _warn(f"Connection.{name}", instead, 4)
    return getattr(import_module("ipulse.client.former"), function)(connection)


def former_call(instead: str) -> Callable[[_Method], _Method]:
    """Let a method of one argument pass a call with others to the method that took its place."""

    def decorate(method: _Method) -> _Method:
        @functools.wraps(method)
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            if len(arguments) + len(options) == 1:
                return method(self, *arguments, **options)
            _warn(f"Connection.{method.__name__} with several arguments", instead, 3)
            return getattr(self, instead)(*arguments, **options)

        return cast("_Method", call)

    return decorate


def _warn(name: str, instead: str, level: int) -> None:
    """Warn at the caller's line, so that Python shows it in scripts and notebooks."""
    message = f"{name} is deprecated and goes with the next release: use {instead}"
    warnings.warn(message, DeprecationWarning, stacklevel=level)
