"""The Python of a sandboxed process: its folders, and where it finds modules."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Dict, Iterable, List, Mapping

import ipulse_core
import ipulse_worker
import poplar_emulator
from ipulse_worker.runner.sandbox.unavailable import SandboxUnavailable

_PACKAGES = (ipulse_core, ipulse_worker, poplar_emulator)


def python_folders(*more: ModuleType) -> Dict[str, Path]:
    """Return the folders with this Python and the packages that an op's process imports.

    more: further packages.

    Raises SandboxUnavailable if the op would see a home folder with them.
    """
    home = Path.home().resolve()
    packages = [Path(str(package.__file__)).parent for package in (*_PACKAGES, *more)]
    paths = [Path(sys.prefix), Path(sys.base_prefix), *packages]
    paths.append(Path(sys.executable).resolve().parents[1])
    found: Dict[str, Path] = {}
    for folder in dict.fromkeys([path.absolute() for path in paths] + [p.resolve() for p in paths]):
        if folder == Path("/usr") or any(
            parent == Path("/usr") or str(parent) in found for parent in folder.parents
        ):
            continue
        if folder in (home, *home.parents):
            raise SandboxUnavailable(
                f"ops would see all files in {folder}, in which this Python is: install IPUlse in "
                "a virtual environment of its own"
            )
        found[str(folder)] = folder
    return found


def python_path(environment: Mapping[str, str], folders: Iterable[Path], *more: ModuleType) -> str:
    """Return the PYTHONPATH of a process that needs modules of an SDK, such as pva.

    Args:
        environment: of the runner.
        folders: of the SDK; other places of the runner's PYTHONPATH are not shown to it.
        more: packages besides those of every sandboxed process.
    """
    listed = [Path(name) for name in environment.get("PYTHONPATH", "").split(":") if name]
    shown = list(folders)
    of_sdk = [
        path
        for path in listed
        if any(folder in (path.resolve(), *path.resolve().parents) for folder in shown)
    ]
    packages = [Path(str(package.__file__)).parents[1] for package in (*_PACKAGES, *more)]
    paths: List[str] = [str(path) for path in (*of_sdk, *packages)]
    return ":".join(dict.fromkeys(paths))
