"""The directory in which a build becomes whole, before it gets its name in the cache.

Whoever builds holds a lock on it, which the kernel drops with the process: what a process that was
killed left behind is removed by the next build.
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
# What is younger is left alone: it may be about to be locked, or a compiler may outlive its parent.
LEFTOVER_SECONDS = 3600.0


@contextlib.contextmanager
def scratch_directory(cache: Path, name: str) -> Iterator[Path]:
    """A new one in `cache`, removed at the end; leftovers of others go first, and builds that
    nobody uses any more."""
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
    """Removes every scratch directory that is old and that no process holds."""
    oldest = time.time() - LEFTOVER_SECONDS
    for path in cache.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):  # gone since it was listed, held, or not ours to remove
            if path.stat().st_mtime > oldest:
                continue
            descriptor = os.open(str(path), os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(str(path))
            finally:
                os.close(descriptor)
