"""Temporary directories for builds, inside the cache.

A process that builds locks its directory. The kernel releases the lock when the process ends, so
that the next build can remove the directory of a process that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Iterator

from ipulse_core.build_cache.unused_builds import remove_unused

SUFFIX = ".building"
# A younger directory is never removed: it may be about to be locked, or a compiler may outlive its
# parent.
LEFTOVER_SECONDS = 3600.0


@contextlib.contextmanager
def scratch_directory(cache: Path, name: str) -> Iterator[Path]:
    """Make a directory in `cache` and remove it at the end.

    First, this removes the directories of killed processes and unused builds.
    """
    remove_leftovers(cache)
    remove_unused(cache)
    prefix = f"{name}-"
    with tempfile.TemporaryDirectory(dir=str(cache), prefix=prefix, suffix=SUFFIX) as scratch:
        descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield Path(scratch)
        finally:
            os.close(descriptor)


def remove_leftovers(cache: Path) -> None:
    """Remove every scratch directory that is old and that no process has locked."""
    oldest = time.time() - LEFTOVER_SECONDS
    for path in cache.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):  # already removed, locked, or owned by another user
            if path.stat().st_mtime > oldest:
                continue
            descriptor = os.open(str(path), os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(str(path))
            finally:
                os.close(descriptor)
