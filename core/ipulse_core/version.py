"""The version of this build: that of a release, or the next one's with its commit.

Only the commit `release X.Y.Z` has a version without `.dev`. Every other build names the commit
that it was made from, or "unknown".
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path
from typing import Optional

from ipulse_core.checkout import checkout_root

RELEASE = "0.4.0.dev0"

COMMIT_FILE = "commit.txt"  # of a wheel or an image: the commit that it was made from
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

    The environment variable IPULSE_COMMIT comes first, then the file of the wheel or the image,
    then git in a source checkout.
    """
    for found in (os.environ.get("IPULSE_COMMIT"), _built_commit(), _checked_out_commit()):
        if found and re.fullmatch("[0-9a-f]{7,64}", found):
            return found
    return None


def write_commit_file(folder: Path) -> None:
    """Write COMMIT_FILE into a folder, for a build that is made from here and now."""
    (folder / COMMIT_FILE).write_text(f"{commit() or 'unknown'}\n", encoding="ascii")


def _built_commit() -> Optional[str]:
    try:
        return (_PACKAGE / COMMIT_FILE).read_text(encoding="ascii").strip()
    except OSError:
        return None


def _checked_out_commit() -> Optional[str]:
    root = checkout_root()
    if root is None or not (root / ".git").exists():
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
    write_commit_file(_PACKAGE)
