"""The digest of an installed distribution: equal on each machine that installs the same wheel."""

from __future__ import annotations

import csv
import hashlib
import os
from importlib.metadata import Distribution
from pathlib import Path
from typing import Dict, Iterable, List, Set

# Of *.dist-info these count; installers write others, which differ by machine.
_METADATA = ("METADATA", "WHEEL", "entry_points.txt")
_CACHE = "__pycache__"


class UnfitDistribution(ValueError):
    """The files of a distribution cannot be signed off."""


def digest_of(distribution: Distribution) -> str:
    """Return the SHA-256 of all files that the distribution installed, by name and content.

    The contents are read from the disk, so that a file that was changed after the installation
    changes the digest. Nothing of the distribution is imported.

    Raises UnfitDistribution for an editable or incomplete installation, for files outside of the
    folders of modules, for files that Python runs at its start (.pth), for compiled Python without
    its source, and for files that do not belong to the distribution beside its modules.
    """
    paths = _listed(distribution)
    lines = [f"{_sha256(path)}  {name}\n" for name, path in sorted(paths.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def module_paths(distribution: Distribution) -> Dict[str, Path]:
    """Return the files of a distribution by their names. Raises as digest_of."""
    return {name: path for name, path in _listed(distribution).items() if ".dist-info/" not in name}


def _listed(distribution: Distribution) -> Dict[str, Path]:
    found: Dict[str, Path] = {}
    # Not distribution.files, from which newer Pythons leave out what is missing.
    record = distribution.read_text("RECORD") or ""
    for name in [row[0].replace("\\", "/") for row in csv.reader(record.splitlines()) if row]:
        path, parts = Path(str(distribution.locate_file(name))), name.split("/")
        if _CACHE in parts[:-1] and name.endswith(".pyc"):
            continue
        if parts[0].endswith(".dist-info"):
            if len(parts) == 2 and parts[1] in _METADATA:
                found[name] = path
            continue
        _check_name(name, parts)
        found[name] = path
    if not any(name.endswith("/entry_points.txt") for name in found):
        raise UnfitDistribution(
            "it has no list of its files with entry points: install it as a wheel, and not with -e"
        )
    _check_rest(found)
    return found


def _check_name(name: str, parts: List[str]) -> None:
    if ".." in parts or name.startswith("/"):
        raise UnfitDistribution(
            f"it installs {name} outside of its modules: leave scripts and data files out"
        )
    if name.endswith(".pth"):
        raise UnfitDistribution(f"it has {name}, which every Python runs at its start")
    if name.endswith((".pyc", ".pyo")):
        raise UnfitDistribution(f"it has {name}: compiled Python needs its source beside it")


def _check_rest(found: Dict[str, Path]) -> None:
    """Raise UnfitDistribution if a folder of modules has files that the list does not name."""
    folders: Set[Path] = set()
    for name, path in found.items():
        if not path.is_file() or path.is_symlink():
            raise UnfitDistribution(f"{name} is missing, or no plain file: install it again")
        if "/" in name and ".dist-info/" not in name:
            folders.add(path.parents[name.count("/") - 1])
    known = {os.path.normpath(str(path)) for path in found.values()}
    for folder in sorted(folders):
        for present in _files_in(folder):
            if os.path.normpath(present) not in known:
                raise UnfitDistribution(
                    f"{present} does not belong to it: remove the file, or install it again"
                )


def _files_in(folder: Path) -> Iterable[str]:
    """Yield the files of a folder but the cached bytecode, which a loaded module does not use."""
    for root, directories, files in os.walk(str(folder)):
        links = [name for name in directories if os.path.islink(os.path.join(root, name))]
        in_cache = os.path.basename(root) == _CACHE
        for name in [*files, *links]:
            if not (in_cache and name.endswith(".pyc")):
                yield os.path.join(root, name)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
