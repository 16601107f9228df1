"""Removal of builds that have not been used for a long time.

Finding a build (`mark_used`) counts as use, as does opening its files where the file system records
access times. Builds are removed only while another build runs, and so only on machines that can
compile them again, and only under their lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import time
from pathlib import Path

from ipulse_core.build_cache.limits import LIMIT_DAYS
from ipulse_core.build_cache.lock import LOCK_SUFFIX, is_still, lock_of

_DAY_SECONDS = 24 * 3600.0
BUILD = re.compile(r"[a-z][a-z0-9.-]*(-[0-9a-f]{16}){1,2}")  # a name and one or two hashes


def mark_used(directory: Path) -> bool:
    """Record, at most once a day, that a build is used. Return whether the build exists."""
    try:
        if time.time() - directory.stat().st_mtime > _DAY_SECONDS:
            os.utime(str(directory))
    except FileNotFoundError:
        return False
    except OSError:  # a read-only cache, from which nothing is removed
        pass
    return True


def remove_unused(cache: Path) -> None:
    """Remove every build in `cache` that was not used for LIMIT_DAYS, and its lock.

    Old locks without a build are removed, too. Builds whose lock is held are not.
    """
    oldest = time.time() - LIMIT_DAYS * _DAY_SECONDS
    names = {path.name for path in cache.glob(f"*-{'[0-9a-f]' * 16}")}
    names |= {path.name[: -len(LOCK_SUFFIX)] for path in cache.glob(f"*{LOCK_SUFFIX}")}
    for name in sorted(filter(BUILD.fullmatch, names)):
        with contextlib.suppress(OSError):  # already removed, locked, or owned by another user
            remove_build(cache / name, oldest)


def remove_build(directory: Path, oldest: float) -> bool:
    """Remove a build that was not used since a time, and its lock; return whether it is gone.

    Raises BlockingIOError if its lock is held, and other OSErrors.
    """
    lock = lock_of(directory)
    if max(_last_use(directory), lock.stat().st_mtime if lock.exists() else 0.0) >= oldest:
        return False
    descriptor = os.open(str(lock), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not is_still(lock, descriptor):
            return False
        if directory.exists():
            aside = directory.parent / f"{directory.name}.{os.getpid()}.building"
            directory.rename(aside)  # from now on a process that needs it builds it again
            if _last_use(aside) >= oldest:
                aside.rename(directory)
                return False
            shutil.rmtree(str(aside))
        lock.unlink()
    finally:
        os.close(descriptor)
    return True


def _last_use(directory: Path) -> float:
    """Return the time of the last use in seconds since 1970, or 0 if there is no directory."""
    if not directory.is_dir():
        return 0.0
    last = directory.stat().st_mtime
    for parent, _, files in os.walk(str(directory)):
        for name in files:
            found = os.lstat(os.path.join(parent, name))
            last = max(last, found.st_mtime, found.st_atime)
    return last
