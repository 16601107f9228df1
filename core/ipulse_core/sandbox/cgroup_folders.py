"""Where this process may make control groups, in both versions.

In version 2 a group with limits for its children has no processes itself, so those of a group that
systemd delegated (`Delegate=yes`), or of a container, move into a child of it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

_NEEDED = ("memory", "pids")
_SELF = "ipulse-worker"  # in version 2, the group of what was in a delegated group
_ROOT = Path("/proc/self")
_TRIES = 50


class NoControlGroup(Exception):
    """This process may not make a control group; the message says why, with what to do."""


class Hierarchies(NamedTuple):
    """The groups in which this process is, by controller; one and the same in version 2."""

    version: int
    folders: Mapping[str, Path]


def usable_hierarchies() -> Hierarchies:
    """Return where this process may make groups with limits. Raises NoControlGroup."""
    first, second = _own_groups()
    if all(name in first for name in _NEEDED):
        wanted = {name: first[name] for name in (*_NEEDED, "cpu") if name in first}
        for folder in wanted.values():
            _require_writable(folder)
        return Hierarchies(1, wanted)
    if second is None:
        raise NoControlGroup("this machine has no control groups for memory and processes")
    folder = _delegated(second)
    return Hierarchies(2, dict.fromkeys((*_NEEDED, "cpu"), folder))


def _own_groups() -> Tuple[Dict[str, Path], Optional[Path]]:
    """Return the folders of this process: by controller of version 1, and that of version 2."""
    paths: Dict[str, str] = {}
    for line in (_ROOT / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))
    first: Dict[str, Path] = {}
    second: Optional[Path] = None
    for line in (_ROOT / "mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, options = after.split(" ")[0], after.split(" ")[2]
        root, place = before.split(" ")[3:5]
        for name in options.split(",") if kind == "cgroup" else [""] * (kind == "cgroup2"):
            if name not in paths:
                continue
            inside = os.path.relpath(paths[name], root)
            folder = Path(place) if inside.startswith("..") else Path(place) / inside
            if name:
                first[name] = folder
            else:
                second = folder
    return first, second


def _require_writable(folder: Path) -> None:
    if not os.access(str(folder), os.W_OK):
        raise NoControlGroup(f"{folder} may not be written to")


def _delegated(folder: Path) -> Path:
    """Return the group of version 2 that limits its children, after this process left it.

    Raises NoControlGroup.
    """
    if folder.name == _SELF:
        folder = folder.parent
    available = _words(folder / "cgroup.controllers")
    missing = [name for name in _NEEDED if name not in available]
    if missing:
        raise NoControlGroup(f"{folder} has no controller {' and '.join(missing)}")
    _require_writable(folder)
    wanted = [name for name in (*_NEEDED, "cpu") if name in available]
    if all(name in _words(folder / "cgroup.subtree_control") for name in _NEEDED):
        return folder
    if not _is_delegated(folder):
        raise NoControlGroup(f"{folder} is not delegated to this worker")
    control = folder / "cgroup.subtree_control"
    text = " ".join(f"+{name}" for name in wanted)
    own = folder / _SELF
    try:
        if (folder / "cgroup.type").exists():  # all but the root of the machine
            own.mkdir(exist_ok=True)
        for _ in range(_TRIES):
            with suppress(OSError):
                control.write_text(text)
                return folder
            for pid in (folder / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    (own / "cgroup.procs").write_text(pid)
        control.write_text(text)
    except OSError as error:
        raise NoControlGroup(f"{error.filename or control}: {error.strerror}") from error
    return folder


def _is_delegated(folder: Path) -> bool:
    """Return whether a group is this worker's own: that of its service, or a root."""
    for name in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            if os.getxattr(str(folder), name) == b"1":
                return True
    is_mount = os.path.ismount(str(folder))  # of the machine, or of a container
    return is_mount


def _words(path: Path) -> List[str]:
    with suppress(OSError):
        return path.read_text().split()
    return []
