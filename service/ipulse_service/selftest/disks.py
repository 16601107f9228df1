"""Disks that are small enough to be filled: file systems in memory that only this process sees."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

MIBIBYTE = 2**20
_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18
_MNT_DETACH = 2


class Disks:
    """Mounted with `prepare`. To be called by the main thread before there are others."""

    def __init__(self) -> None:
        self._mounted: dict[Path, Path] = {}
        self._is_apart = False

    def prepare(self, path: Path, mebibytes: int) -> bool:
        """Puts a small disk at an empty folder; False where this process may mount none."""
        try:
            if not self._is_apart:
                # What is mounted from here on is gone with this process, however it ends.
                _call("unshare", _CLONE_NEWNS)
                _call("mount", None, b"/", None, _MS_REC | _MS_PRIVATE, None)
                self._is_apart = True
            options = f"size={mebibytes}m,mode=0700".encode()
            _call("mount", b"tmpfs", os.fsencode(path), b"tmpfs", 0, options)
        except OSError:
            return False
        self._mounted[path] = path / ".filler"
        return True

    def has(self, path: Path) -> bool:
        return path in self._mounted

    def fill(self, path: Path) -> None:
        """Takes every byte that is free."""
        descriptor = os.open(self._mounted[path], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        block = bytes(MIBIBYTE)
        try:
            while block:
                try:
                    os.write(descriptor, block)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    block = block[: len(block) // 2]
        finally:
            os.close(descriptor)

    def free(self, path: Path) -> None:
        self._mounted[path].unlink()

    def remove(self) -> None:
        """Takes the disks away again, the innermost first."""
        for path in reversed(list(self._mounted)):
            _call("umount2", os.fsencode(path), _MNT_DETACH)
        self._mounted.clear()


def _call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
