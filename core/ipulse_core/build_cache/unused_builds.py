"""What lies in the cache of builds and has not been used for long, found and removed.

A build is used when somebody looks for it and finds it (`mark_used`), or opens its files, as far
as the file system notes that. Builds are removed only while something is built, thus only where a
compiler could make them again, and only by who holds their lock.
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
BUILD = re.compile(r"[a-z][a-z0-9.-]*(-[0-9a-f]{16}){1,2}")  # a name and hashes


def mark_used(directory: Path) -> bool:
    """Notes, once a day, that a build is used; whether it is there."""
    try:
        if time.time() - directory.stat().st_mtime > _DAY_SECONDS:
            os.utime(str(directory))
    except FileNotFoundError:
        return False
    except OSError:  # a cache that is not ours to write: nobody removes anything there
        pass
    return True


def remove_unused(cache: Path) -> None:
    """Removes every build in `cache` that was not used for LIMIT_DAYS, with its lock, and locks
    without a build; but none whose lock somebody holds."""
    oldest = time.time() - LIMIT_DAYS * _DAY_SECONDS
    names = {path.name for path in cache.glob(f"*-{'[0-9a-f]' * 16}")}
    names |= {path.name[: -len(LOCK_SUFFIX)] for path in cache.glob(f"*{LOCK_SUFFIX}")}
    for name in sorted(filter(BUILD.fullmatch, names)):
        with contextlib.suppress(OSError):  # gone since it was listed, held, or not ours to remove
            _remove_if_unused(cache / name, oldest)


def _remove_if_unused(directory: Path, oldest: float) -> None:
    lock = lock_of(directory)
    if max(_last_use(directory), lock.stat().st_mtime if lock.exists() else 0.0) >= oldest:
        return
    descriptor = os.open(str(lock), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not is_still(lock, descriptor):
            return
        if directory.exists():
            aside = directory.parent / f"{directory.name}.{os.getpid()}.building"
            directory.rename(aside)  # whoever looks for it from now on builds it again
            if _last_use(aside) >= oldest:
                aside.rename(directory)
                return
            shutil.rmtree(str(aside))
        lock.unlink()
    finally:
        os.close(descriptor)


def _last_use(directory: Path) -> float:
    """Seconds since 1970; 0 if it is not there."""
    if not directory.is_dir():
        return 0.0
    last = directory.stat().st_mtime
    for parent, _, files in os.walk(str(directory)):
        for name in files:
            found = os.lstat(os.path.join(parent, name))
            last = max(last, found.st_mtime, found.st_atime)
    return last
