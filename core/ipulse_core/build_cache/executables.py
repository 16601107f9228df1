"""Compiled programs kept from run to run, each under the hash of all that it was compiled from.

A file is one line of JSON that says what it holds, then the executable. It is written under
another name, flushed and renamed: a reader finds none of it or all of it, also when two processes
write the same one. A file is used only if the key, the size and the SHA-256 of its bytes are what
its first line says, and if it is the user's own; anything else is a warning and a compilation.
What is too much goes, the longest unused first.
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

FORMAT = 1
SUFFIX = ".executable"
_KEY = re.compile(r"[0-9a-f]{64}")
_PARTIAL = "partial-"
_PARTIAL_SECONDS = 3600.0  # an older one is of a process that died
_MOST_HEADER = 1024  # bytes of the first line; ours has about 200

Warn = Callable[[str], None]


class Usage(NamedTuple):
    """What lies in a cache."""

    executables: int
    bytes: int


def key_of(parts: Mapping[str, Any]) -> str:
    """The key of an executable that was made from these parts, which must be plain JSON."""
    text = json.dumps([FORMAT, parts], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Of its content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class ExecutableCache:
    """A directory of executables. Any number of processes may use it at once."""

    def __init__(
        self,
        warn: Warn,
        directory: Optional[Path] = None,
        limit_bytes: Optional[int] = None,
    ) -> None:
        """directory: `executables` in the cache directory unless named.

        limit_bytes: as Limits.of_environment takes it, and raises ValueError.
        """
        self.directory = directory or cache_directory() / "executables"
        self.limits = Limits.of_environment(limit_bytes)
        self.warn = warn

    def load(self, key: str) -> Optional[bytes]:
        """The executable, or None if there is none that can be trusted."""
        path = self._path(key)
        try:
            # Without waiting: a pipe by that name would keep its reader for ever.
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    self._ignored(path, "it is no file")
                    return None
                if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                    self._ignored(path, "others may write to it")
                    return None
                header = file.readline(_MOST_HEADER)
                executable = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._ignored(path, error.strerror or str(error))
            return None
        wrong = _wrong(header, key, executable)
        if wrong:
            self._ignored(path, wrong)
            return None
        with contextlib.suppress(OSError):  # another process may have removed it
            os.utime(path)  # used now: not the next to go
        return executable

    def store(self, key: str, executable: bytes) -> Path:
        """Keeps it. Raises OSError if it cannot be written."""
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
            with os.fdopen(descriptor, "wb") as file:
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
        """Removes an executable that was all there and could not be used."""
        self._ignored(self._path(key), why)
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def usage(self) -> Usage:
        """How many there are and how large they are together."""
        entries = self.entries()
        return Usage(len(entries), sum(entry.bytes for entry in entries))

    def entries(self) -> List[Entry]:
        """What is there; a path's stem is its key."""
        return list(self._each_entry())

    def prune(self, limits: Limits, kept: Optional[Path] = None) -> List[Entry]:
        """Removes what is beyond the limits, but not the one just written, whatever its size.

        Whoever reads one meanwhile has all of it.
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

    def _ignored(self, path: Path, why: str) -> None:
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


def _wrong(header: bytes, key: str, executable: bytes) -> str:
    """What a file is not; empty if it is what it should be."""
    try:
        said = json.loads(header)
    except ValueError:
        said = None
    if not isinstance(said, dict) or said.get("ipulse_executable") != FORMAT:
        return "it is no executable of this version"
    if said.get("key") != key:
        return "it was made from something else"
    if said.get("bytes") != len(executable):
        return f"it has {len(executable):,} bytes and should have {said.get('bytes')}"
    if said.get("sha256") != hashlib.sha256(executable).hexdigest():
        return "its bytes are damaged"
    return ""
