"""The folder in which a program starts, where that is not its package alone."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Dict, Mapping

INITIAL = "/initial"  # a place in the sandbox


def initial_folder(folder: Path, package: Path, files: Mapping[str, Path]) -> Dict[str, str]:
    """Fill a folder with a package and compiled files; return the digests of the latter by name.

    A file of the package is replaced by a compiled one of its name.
    """
    for path in sorted(package.rglob("*")):
        target = folder / path.relative_to(package)
        if path.is_dir():
            target.mkdir()
        else:
            shutil.copy(str(path), str(target))
    digests: Dict[str, str] = {}
    for name, source in files.items():
        target = folder / name
        shutil.copy(str(source), str(target))
        digests[name] = hashlib.sha256(target.read_bytes()).hexdigest()
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return digests
