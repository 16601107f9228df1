"""Names of a former release that are accepted for one more, with a warning.

The tables of such names are in this package, and nothing else in `ipulse` uses what they name.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

_Method = TypeVar("_Method", bound=Callable[..., Any])

# Groups of the command line, and what they are called now.
FORMER_GROUPS = {"ops": "op"}

_MOVED = (
    *("AsyncConnection", "AsyncJobHandle", "BestEpoch", "Connection", "FileHandle", "FoundJobs"),
    *("JobComparison", "JobFailed", "JobFiles", "JobHandle", "JobProfile", "LogLine"),
    *("SampleSpikes", "SweepHandle", "compare", "connect", "connect_async"),
)
# Names of modules: the module that has them now, and what to use in their place.
FORMER_NAMES = {
    "ipulse.client": {
        "AsyncClient": ("ipulse.deprecated.clients", "ipulse.connect_async"),
        "Client": ("ipulse.deprecated.clients", "ipulse.connect"),
    },
    "ipulse.handles": {
        **{name: ("ipulse.client", f"ipulse.client.{name}") for name in _MOVED},
        "DataLibrary": ("ipulse.deprecated.clients", "ipulse.client.Connection"),
    },
}

# Members of connections: the functions of ipulse.deprecated.clients that return them, and what to
# use in their place.
FORMER_MEMBERS = {
    "client": ("client_of", "the methods of the connection"),
    "data": ("data_library_of", "push_dataset, datasets, dataset and delete_dataset"),
    "open_sweep": ("sweep_of", "sweep"),
}


def former_name(module: str, name: str) -> Any:
    """Return what a module had under a name. Raises AttributeError if it never had the name."""
    if name not in FORMER_NAMES[module]:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    place, instead = FORMER_NAMES[module][name]
    _warn(f"{module}.{name}", instead)
    return getattr(import_module(place), name)


def former_member(connection: Any, name: str) -> Any:
    """Return what a connection had under a name. Raises AttributeError if it never had the name."""
    if name not in FORMER_MEMBERS:
        raise AttributeError(f"{type(connection).__name__!r} object has no attribute {name!r}")
    function, instead = FORMER_MEMBERS[name]
    _warn(f"Connection.{name}", instead)
    return getattr(import_module("ipulse.deprecated.clients"), function)(connection)


def former_call(instead: str) -> Callable[[_Method], _Method]:
    """Let a method of one argument pass a call with others to the method that took its place."""

    def decorate(method: _Method) -> _Method:
        @functools.wraps(method)
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            if len(arguments) + len(options) == 1:
                return method(self, *arguments, **options)
            _warn(f"Connection.{method.__name__} with several arguments", instead)
            return getattr(self, instead)(*arguments, **options)

        return cast("_Method", call)

    return decorate


def _warn(name: str, instead: str) -> None:
    message = f"{name} is deprecated and goes with the next release: use {instead}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
