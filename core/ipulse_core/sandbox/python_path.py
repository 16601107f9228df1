"""The Python of a sandboxed process: its folders, and where it finds modules."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Dict, Iterable, List, Mapping

import ipulse_core
from ipulse_core.sandbox.unavailable import SandboxUnavailable


def python_folders(*packages: ModuleType) -> Dict[str, Path]:
    """Return the folders with this Python, ipulse_core and other packages that a process imports.

    Raises SandboxUnavailable if it would see a home folder with them.
    """
    home = Path.home().resolve()
    shown = [Path(str(package.__file__)).parent for package in (ipulse_core, *packages)]
    paths = [Path(sys.prefix), Path(sys.base_prefix), *shown]
    paths.append(Path(sys.executable).resolve().parents[1])
    found: Dict[str, Path] = {}
    for folder in dict.fromkeys([path.absolute() for path in paths] + [p.resolve() for p in paths]):
        if folder == Path("/usr") or any(
            parent == Path("/usr") or str(parent) in found for parent in folder.parents
        ):
            continue
        if folder in (home, *home.parents):
            raise SandboxUnavailable(
                f"code of users would see all files in {folder}, in which this Python is: install "
                "IPUlse in a virtual environment of its own"
            )
        found[str(folder)] = folder
    return found


def python_path(
    environment: Mapping[str, str], folders: Iterable[Path], *packages: ModuleType
) -> str:
    """Return the PYTHONPATH of a process that needs modules of an SDK, such as pva.

    Args:
        environment: of the runner.
        folders: of the SDK; other places of the runner's PYTHONPATH are not shown to it.
        packages: those that the process imports, besides ipulse_core.
    """
    listed = [Path(name) for name in environment.get("PYTHONPATH", "").split(":") if name]
    shown = list(folders)
    of_sdk = [
        path
        for path in listed
        if any(folder in (path.resolve(), *path.resolve().parents) for folder in shown)
    ]
    roots = [Path(str(package.__file__)).parents[1] for package in (ipulse_core, *packages)]
    paths: List[str] = [str(path) for path in (*of_sdk, *roots)]
    return ":".join(dict.fromkeys(paths))
