"""Asks before an ipulse.toml, or its `ca`, that others could write decides where specs are sent."""

from __future__ import annotations

import hashlib
import json
import os
import ssl
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ipulse.stack import tls
from ipulse.stack.home import write_private
from ipulse_core.errors import InvalidInput, Problem

from .login_file import login_path
from .project_file import ProjectFile

NAME = "trusted-projects.json"  # in the folder of the file of `ipulse login`


class UntrustedProject(InvalidInput):
    """Others could have written the ipulse.toml that names the service, or its authority."""

    code = "untrusted_project"


def require_trust(project: ProjectFile, variables: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return how to verify a project's service; None: by the machine's own authorities.

    Only this user could write the project's file and its `ca`, or has accepted their content: in
    a terminal it asks. Raises UntrustedProject otherwise, InvalidInput for an unusable `ca`.
    """
    # The content is not read again after the check, since it could be another one.
    contents, trust = [project.content], None
    if project.ca is not None:
        contents.append(_content(project.ca))
        trust = tls.authorities(project.ca, contents[-1])
    reason = who_could_write(project)
    if reason is None:
        return trust
    digest = "-".join(hashlib.sha256(content).hexdigest() for content in contents)
    login = login_path(variables)
    store = None if login is None else login.with_name(NAME)
    trusted = _read(store)
    if trusted.get(str(project.path)) == digest:
        return trust
    what = f"{project.path} sends specs and tokens to {project.url}, and {reason}"
    if _may_ask() and _asked(what):
        if store is not None:
            store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(store, json.dumps({**trusted, str(project.path): digest}) + "\n")
        return trust
    fix = (
        "name the service yourself with --url or IPULSE_URL, or accept the file once in a terminal"
    )
    if project.path.stat().st_uid == os.getuid():
        places = " ".join(str(place) for place in _places(project))
        fix += f", or let nobody else write: chmod go-w {places}"
    raise UntrustedProject([Problem("/url", "untrusted", f"{what}: {fix}")], f"{what}: {fix}")


def who_could_write(project: ProjectFile) -> str | None:
    """Return who else than this user and root could write a project's files; None: nobody."""
    if not hasattr(os, "getuid"):
        return None
    own = (os.getuid(), 0)
    for place, name in _places(project).items():
        try:
            status = place.stat()
        except OSError as error:  # it was replaced since it was read
            return f"{name} cannot be checked ({error.strerror})"
        if status.st_uid not in own:
            return f"{name} belongs to {_user(status.st_uid)}"
        if status.st_mode & stat.S_IWOTH:
            return f"everybody on this machine may write to {name}"
        if status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid):
            return f"the group {_group(status.st_gid)} may write to {name}"
    return None


def _places(project: ProjectFile) -> dict[Path, str]:
    """Return the files that decide where specs are sent, and their folders, with a name each."""
    folder = project.path.parent
    places = {project.path: "it", folder: "its folder"}
    if project.ca is not None:
        places.update((place, str(place)) for place in _way(project.ca, folder))
    return places


def _way(path: Path, top: Path) -> Iterator[Path]:
    """Yield a file and the folders and links below `top` through which it is reached."""
    for place in (path, *path.parents):
        if place == top:
            return
        yield place
        if place.is_symlink():
            with suppress(OSError):  # somebody who may write to its folder replaced it
                yield from _way(place.parent / os.readlink(place), top)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        detail = f"{path} cannot be read: {error.strerror}"
        raise InvalidInput([Problem("/ca", "tls", detail)], detail) from error


def _is_private(gid: int) -> bool:
    """Return whether a group is the one that many systems make for each user."""
    return gid == 0 or _group(gid) == _user(os.getuid())


def _user(uid: int) -> str:
    import pwd

    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return f"the user {uid}"


def _group(gid: int) -> str:
    import grp

    with suppress(KeyError):
        return grp.getgrgid(gid).gr_name
    return str(gid)


def _may_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _asked(what: str) -> bool:
    sys.stderr.write(f"{what.encode('unicode_escape').decode()}.\nUse this service? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _read(store: Path | None) -> dict[str, str]:
    if store is None:
        return {}
    with suppress(OSError, ValueError):
        found = json.loads(store.read_text("utf-8"))
        if isinstance(found, dict):
            return {str(path): str(digest) for path, digest in found.items()}
    return {}
