"""ipulse.toml: the service of a project, found in the working directory or above it.

    url = "https://lab.example.org:8470"
    token_file = "token"          # next to ipulse.toml, or below it
    ca = "authority.pem"

A checkout of somebody else may contain such a file. Therefore it can name no file outside of its
own folder, one that others could write is used only when its user has accepted it (see
`project_trust`), and no token from the environment is sent to an address that it names.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ipulse_core.errors import InvalidInput, Problem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "ipulse.toml"
_KEYS = ("url", "token_file", "ca")
_MOST_BYTES = 2**16


@dataclass(frozen=True)
class ProjectFile:
    """The content of an ipulse.toml."""

    path: Path
    url: str | None = None
    token_file: Path | None = None
    ca: Path | None = None  # as it is named, so that links on the way to it can be checked
    content: bytes = field(default=b"", repr=False)


def find_project_file(folder: Path | None = None) -> ProjectFile | None:
    """Return the nearest ipulse.toml, in a folder or above it.

    Raises InvalidInput, with every problem, if it is not valid.
    """
    try:
        start = Path.cwd() if folder is None else folder.resolve()
    except OSError:  # the working directory was removed
        return None
    for place in (start, *start.parents):
        path = place / NAME
        try:
            if path.is_file():
                return _read(path)
        except OSError:
            continue
    return None


def _read(path: Path) -> ProjectFile:
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        detail = f"{path} is larger than {_MOST_BYTES:,} bytes"
        raise _invalid(path, [Problem("", "too_large", detail)])
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _invalid(path, [Problem("", "invalid_toml", f"{path}: {error}")]) from None
    problems = [
        Problem(f"/{name}", "unknown_field", f"the fields of {NAME} are {', '.join(_KEYS)}")
        for name in document
        if name not in _KEYS
    ]
    problems += [
        Problem(f"/{name}", "wrong_type", "must be text")
        for name in _KEYS
        if not isinstance(document.get(name, ""), str)
    ]
    if "token_file" in document and "url" not in document:
        detail = "is for the service that `url` names, and there is no url"
        problems.append(Problem("/token_file", "inconsistent", detail))
    if problems:
        raise _invalid(path, problems)
    token_file, ca = (_beside(path, document, name) for name in ("token_file", "ca"))
    if ca is not None:
        ca = path.parent / document["ca"]
    return ProjectFile(path, document.get("url"), token_file, ca, content)


def _beside(path: Path, document: dict[str, Any], name: str) -> Path | None:
    """Return a file that the document names, which must be in its folder or below it."""
    if name not in document:
        return None
    folder = path.parent.resolve()
    file: Path = (folder / str(document[name])).resolve()
    if not file.is_relative_to(folder):
        detail = f"must be a file in {folder} or below it"
        raise _invalid(path, [Problem(f"/{name}", "outside", detail)])
    return file


def _invalid(path: Path, problems: list[Problem]) -> InvalidInput:
    return InvalidInput(problems, f"{path} is not valid")
