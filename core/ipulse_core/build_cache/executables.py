"""A cache of compiled programs, each under the hash of everything it was compiled from.

A file is one line of JSON that describes the executable, then the executable. It is written under
another name, flushed and renamed, so that a reader finds none of it or all of it, also when two
processes write the same key. A file is used only if its key, size and SHA-256 match its first line
and if only the user can write to it; otherwise the cache warns and the caller compiles. The least
recently used executables are removed when the cache exceeds its limits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List, Mapping, NamedTuple, Optional

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.limits import Entry, Limits
from ipulse_core.worker_faults import errors_name

FORMAT = 1
SUFFIX = ".executable"
_KEY = re.compile(r"[0-9a-f]{64}")
_PARTIAL = "partial-"
_PARTIAL_SECONDS = 3600.0  # an older partial file is from a process that died
_MAX_HEADER_BYTES = 1024  # of the first line, which has about 200

Warn = Callable[[str], None]


class Usage(NamedTuple):
    """The number and total size of the executables in a cache."""

    executables: int
    bytes: int


def key_of(parts: Mapping[str, Any]) -> str:
    """Return the key of an executable compiled from these parts, which must be plain JSON."""
    text = json.dumps([FORMAT, parts], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class ExecutableCache:
    """A directory of executables that any number of processes may use at once."""

    def __init__(
        self,
        warn: Warn,
        directory: Optional[Path] = None,
        limit_bytes: Optional[int] = None,
    ) -> None:
        """Open a cache.

        directory: by default `executables` in the cache directory.
        limit_bytes: passed to Limits.of_environment, which raises ValueError.
        """
        self.directory = directory or cache_directory() / "executables"
        self.limits = Limits.of_environment(limit_bytes)
        self.warn = warn

    def load(self, key: str) -> Optional[bytes]:
        """Return the executable, or None if there is none that can be trusted."""
        path = self._path(key)
        try:
            # Non-blocking: a pipe of that name would block its reader forever.
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    self._warn_ignored(path, "it is not a regular file")
                    return None
                if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                    self._warn_ignored(path, "others may write to it")
                    return None
                header = file.readline(_MAX_HEADER_BYTES)
                executable = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn_ignored(path, error.strerror or str(error))
            return None
        problem = _problem(header, key, executable)
        if problem:
            self._warn_ignored(path, problem)
            return None
        with contextlib.suppress(OSError):  # another process may have removed it
            os.utime(path)  # it is the most recently used now
        return executable

    def store(self, key: str, executable: bytes) -> Path:
        """Store an executable and return its path. Raises OSError if it cannot be written."""
        path = self._path(key)
        header = {
            "ipulse_executable": FORMAT,
            "key": key,
            "bytes": len(executable),
            "sha256": hashlib.sha256(executable).hexdigest(),
        }
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(dir=str(self.directory), prefix=_PARTIAL)
        try:
            with errors_name(path), os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(header).encode() + b"\n" + executable)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise
        self._flush_names()
        self.prune(self.limits, path)
        return path

    def reject(self, key: str, why: str) -> None:
        """Remove an executable that is complete but could not be used."""
        self._warn_ignored(self._path(key), why)
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def usage(self) -> Usage:
        """Return the number and the total size of the executables."""
        entries = self.entries()
        return Usage(len(entries), sum(entry.bytes for entry in entries))

    def entries(self) -> List[Entry]:
        """Return every executable; the stem of its path is its key."""
        return list(self._each_entry())

    def prune(self, limits: Limits, kept: Optional[Path] = None) -> List[Entry]:
        """Remove and return the executables that exceed the limits.

        kept: never removed, whatever its size; the one just written.
        A process that reads a removed file still reads all of it.
        """
        for partial in self.directory.glob(f"{_PARTIAL}*"):
            with contextlib.suppress(OSError):
                if partial.stat().st_mtime < time.time() - _PARTIAL_SECONDS:
                    partial.unlink()
        gone = []
        for entry in limits.beyond(self.entries(), time.time()):
            if entry.path != kept:
                with contextlib.suppress(OSError):
                    entry.path.unlink()
                    gone.append(entry)
        return gone

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"a key is 64 hexadecimal digits; got {key!r}")
        return self.directory / f"{key}{SUFFIX}"

    def _warn_ignored(self, path: Path, why: str) -> None:
        self.warn(f"the executable cache's {path} is not used: {why}")

    def _flush_names(self) -> None:
        descriptor = os.open(str(self.directory), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _each_entry(self) -> Iterator[Entry]:
        for path in self.directory.glob(f"*{SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):  # gone since it was listed
                status = path.stat()
                yield Entry(status.st_mtime, status.st_size, path)


def _problem(header: bytes, key: str, executable: bytes) -> str:
    """Return what is wrong with a file, or an empty string."""
    try:
        described = json.loads(header)
    except ValueError:
        described = None
    if not isinstance(described, dict) or described.get("ipulse_executable") != FORMAT:
        return "it is not an executable of this version"
    if described.get("key") != key:
        return "it was made from something else"
    if described.get("bytes") != len(executable):
        return f"it has {len(executable):,} bytes and should have {described.get('bytes')}"
    if described.get("sha256") != hashlib.sha256(executable).hexdigest():
        return "its bytes are damaged"
    return ""
