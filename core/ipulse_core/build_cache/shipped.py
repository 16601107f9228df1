"""Builds that a wheel contains, in a folder `shipped` next to the sources.

The build hook of a package (`hatch_*.py`) puts them into its wheel, and `find_shipped` finds
them at run time. A shipped library is used if it was made from the sources and flags that are
installed with it and if this machine can load it. Otherwise a build in the cache takes its place.
"""

from __future__ import annotations

import ctypes
import shutil
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Optional

FOLDER = "shipped"
RECIPE_FILE = "recipe.txt"  # the hash of all that the folder was built from, but the compiler


def find_shipped(folder: Path, library: str, recipe: str) -> Optional[Path]:
    """Return the folder, or None if it is missing or not usable here.

    library: its shared library, relative to the folder.
    recipe: the hash of the installed sources and flags.
    """
    try:
        built_from = (folder / RECIPE_FILE).read_text("utf-8")
    except OSError:
        return None
    return folder if built_from == recipe and _loads(folder / library) else None


def ship(build: Path, folder: Path, recipe: str) -> None:
    """Copy a build of the cache, without symbolic links, to a new folder for a wheel."""
    shutil.copytree(str(build), str(folder))
    (folder / RECIPE_FILE).write_text(recipe, "utf-8")


def add_to_wheel(build_data: Dict[str, Any], folder: Path, package: str) -> None:
    """Add a folder to a wheel of hatch, which becomes a wheel for this platform.

    package: the path of the sources in the wheel, for instance "ipulse_ops/lif/cpu".
    """
    build_data["force_include"][str(folder)] = f"{package}/{FOLDER}"
    build_data["pure_python"] = False
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    build_data["tag"] = f"py3-none-{platform}"  # the library does not depend on Python


@lru_cache(maxsize=None)
def _loads(library: Path) -> bool:
    """Return whether this machine's loader accepts the library; its C library may be too old."""
    try:
        ctypes.CDLL(str(library))
    except OSError:
        return False
    return True
