"""Where the packages are imported from: a source checkout, one folder, or site-packages."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import List, Optional

# Folders of a checkout that contain packages, in addition to its root.
PACKAGE_FOLDERS = ("core", "emulator", "ipu-tensorflow-emulator", "ops", "worker", "service")

_FOLDER = Path(__file__).resolve().parents[1]


def checkout_root() -> Optional[Path]:
    """Return the root of the source checkout that is running, or None for an installation."""
    root = _FOLDER.parent
    return root if _FOLDER.name == "core" and (root / "pyproject.toml").is_file() else None


def import_paths() -> List[Path]:
    """Return the folders that another interpreter must search to import the same packages.

    The list is empty when the packages are installed in site-packages.
    """
    if _FOLDER in {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}:
        return []
    root = checkout_root()
    return [_FOLDER] if root is None else [root, *(root / name for name in PACKAGE_FOLDERS)]


def python_path(inherited: str = "") -> str:
    """Return the PYTHONPATH with which another interpreter imports the same packages."""
    return os.pathsep.join(filter(None, [*map(str, import_paths()), inherited]))
