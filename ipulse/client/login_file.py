"""login.json: the service that this user has signed in to with `ipulse login`.

It is in the configuration folder of the user ($XDG_CONFIG_HOME/ipulse, or ~/.config/ipulse), and
only the user can read it: it contains the token.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ipulse.stack.home import write_private
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, InvalidJSON, Problem, Unavailable

NAME = "login.json"


@dataclass(frozen=True)
class Login:
    """An address, the token for it, and the file of its authority, or an empty text."""

    url: str
    token: str = field(repr=False)
    ca: str = ""


def login_path(environment: Mapping[str, str]) -> Path | None:
    """Return where the login is stored; None if the environment names no folder of the user."""
    folder = environment.get("XDG_CONFIG_HOME")
    if not folder:
        home = environment.get("HOME") or environment.get("USERPROFILE")
        if not home:
            return None
        folder = os.path.join(home, ".config")
    return Path(folder) / "ipulse" / NAME


def find_login(environment: Mapping[str, str]) -> Login | None:
    """Return the stored login, if there is one. Raises InvalidInput for a damaged file."""
    path = login_path(environment)
    try:
        content = b"" if path is None else path.read_bytes()
    except OSError:
        return None
    if not content:
        return None
    try:
        document = strict_json.loads(content)
        return Login(str(document["url"]), str(document["token"]), str(document.get("ca", "")))
    except (InvalidJSON, KeyError, TypeError, AttributeError) as error:
        detail = f"{path} is damaged: sign in again with `ipulse login`"
        raise InvalidInput([Problem("", "invalid_login", detail)], detail) from error


def store_login(login: Login, environment: Mapping[str, str]) -> Path:
    """Store a login in place of an earlier one. Raises Unavailable if that is not possible."""
    path = login_path(environment)
    if path is None:
        raise Unavailable("there is no folder for the login: set HOME or XDG_CONFIG_HOME")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, strict_json.dumps(asdict(login)) + "\n")
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from error
    return path


def forget_login(environment: Mapping[str, str]) -> Login | None:
    """Delete the stored login and return it; also a damaged one, which is returned as None."""
    path = login_path(environment)
    try:
        former = find_login(environment)
    except InvalidInput:
        former = None
    try:
        if path is not None:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from error
    return former
