"""The commands and options of the program in a file, from which a shell's questions are answered.

The whole application takes half a second to load, and a shell asks at every press of Tab. The file
is written by the first answer of a version, and again when the program has changed.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.version import version

from .setting_names import setting_names

_FOLDER = Path(__file__).parent


def read_index() -> dict[str, Any] | None:
    """Return the index of the root command; None if there is none of this program."""
    try:
        document = json.loads(_path().read_bytes())
        root: dict[str, Any] | None = document["root"] if document["key"] == _key() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return root


def write_index(command: Any) -> None:
    """Write the index of an application; without a place for it the next answer is slow, too."""
    root = {**_described(command), "settings": setting_names()}
    document = {"key": _key(), "root": root}
    path = _path()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        file, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(file, "w") as stream:
            json.dump(document, stream)
        os.replace(name, path)


def _path() -> Path:
    return cache_directory() / "completion.json"


def _key() -> list[Any]:
    """Return what differs for another program: version, place, and times of the files."""
    times = [
        entry.stat().st_mtime_ns
        for folder, _, _ in os.walk(_FOLDER)
        if not folder.endswith("__pycache__")
        for entry in os.scandir(folder)
        if entry.name.endswith(".py")
    ]
    return [version(), str(_FOLDER), len(times), max(times)]


def _offers(parameter: Any) -> str:
    """Return what a shell is offered for a parameter beside its choices: "" for nothing."""
    metavar = str(parameter.metavar).strip("[]{}.")
    if parameter._custom_shell_complete is not None:
        return "setting" if metavar.startswith("FIELD=") else "job"
    kinds = {"QUERY": "term", "SWEEP": "sweep", "NAME[@VERSION": "dataset", "NAMES": "column"}
    return kinds.get(metavar, "")


def _described(command: Any, parent: Any = None) -> dict[str, Any]:
    from rich.text import Text
    from typer.core import TyperOption

    def help_of(text: str | None) -> str:
        return " ".join(Text.from_markup(text or "").plain.split())  # as Typer's, but for breaks

    context = command.context_class(command, parent=parent, **command.context_settings)
    options, arguments = {}, []
    for parameter in command.get_params(context):
        described = {
            "choices": list(parameter.type_descriptor.choices or []),
            "offers": _offers(parameter),
            "is_file": parameter.type_descriptor.is_file,
            "is_repeated": parameter.multiple if isinstance(parameter, TyperOption) else False,
            "nargs": parameter.nargs,
        }
        if not isinstance(parameter, TyperOption):
            arguments.append(described)
            continue
        described["is_flag"] = parameter.is_flag or parameter.count
        described["is_hidden"] = parameter.hidden
        described["help"] = help_of(parameter.help)
        described["id"] = parameter.name
        for name in [*parameter.opts, *parameter.secondary_opts]:
            options[name] = described
    children = getattr(command, "commands", {})
    return {
        "help": help_of(command.get_short_help_str()),
        "is_hidden": command.hidden,
        "options": options,
        "arguments": arguments,
        "default": getattr(command, "default_command", ""),
        "commands": {name: _described(child, context) for name, child in children.items()},
    }
