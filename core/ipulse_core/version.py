"""The version of this build: that of a release, or the next one's with its commit.

Only the commit `release X.Y.Z` has a version without `.dev`. Every other build names the commit
that it was made from, or "unknown".
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import subprocess
from pathlib import Path
from typing import Optional

RELEASE = "0.3.0.dev0"

# The file of a wheel or an image with the commit that it was made from (COMMIT).
BUILD_FILE = "_build.py"
_PACKAGE = Path(__file__).resolve().parent
_GIT_SECONDS = 10.0  # a repository on a slow disk must not keep a program from starting


@functools.lru_cache(maxsize=None)
def version() -> str:
    """Return the version of this build, for instance "0.3.0" or "0.4.0.dev0+g1a2b3c4d"."""
    if ".dev" not in RELEASE:
        return RELEASE
    made_from = commit()
    return f"{RELEASE}+{'unknown' if made_from is None else f'g{made_from[:8]}'}"


@functools.lru_cache(maxsize=None)
def commit() -> Optional[str]:
    """Return the commit that this build was made from, in hexadecimal, or None if nothing says it.

    The environment variable IPULSE_COMMIT comes first, then what was written into the wheel or the
    image, then git in a source checkout.
    """
    for found in (os.environ.get("IPULSE_COMMIT"), _built_commit(), _checked_out_commit()):
        if found and re.fullmatch("[0-9a-f]{7,64}", found):
            return found
    return None


def build_file_text() -> str:
    """Return the content of BUILD_FILE for a build that is made from here and now."""
    return f'"""Written by the build."""\n\nCOMMIT = {commit()!r}\n'


def _built_commit() -> Optional[str]:
    # Loaded by its path, so that a build in a checkout can load this module alone.
    spec = importlib.util.spec_from_file_location("_ipulse_build", _PACKAGE / BUILD_FILE)
    if spec is None or spec.loader is None or not (_PACKAGE / BUILD_FILE).exists():
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    built: Optional[str] = module.COMMIT
    return built


def _checked_out_commit() -> Optional[str]:
    root = _PACKAGE.parents[1]
    if _PACKAGE.parent.name != "core" or not (root / ".git").exists():
        return None  # git would find a repository around the installed package
    # The owner of this folder is trusted: its code runs already.
    git = ["git", "-c", f"safe.directory={root}", "-C", str(root), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(  # noqa: S603 - the command is fixed
            git, capture_output=True, timeout=_GIT_SECONDS, check=False, text=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


if __name__ == "__main__":  # in the Dockerfiles
    (_PACKAGE / BUILD_FILE).write_text(build_file_text(), encoding="utf-8")
