"""Small disks to fill: file systems in memory that only this process and its children see."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

MEBIBYTE = 2**20
_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18
_MNT_DETACH = 2


class Disks:
    """The small disks of a testbed. `prepare` must be called before other threads start."""

    def __init__(self) -> None:
        self._mounted: dict[Path, Path] = {}
        self._is_apart = False

    def prepare(self, path: Path, mebibytes: int) -> bool:
        """Mounts a small disk at an empty folder. Returns False without the right to mount."""
        try:
            if not self._is_apart:
                # The mounts disappear with this process, however it ends.
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
        """Returns whether a small disk is mounted at a path."""
        return path in self._mounted

    def fill(self, path: Path, left: int = 0) -> None:
        """Uses every free byte but `left`."""
        descriptor = os.open(self._mounted[path], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        block = bytes(MEBIBYTE)
        try:
            while block:
                try:
                    os.write(descriptor, block)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    block = block[: len(block) // 2]
            os.ftruncate(descriptor, max(0, os.fstat(descriptor).st_size - left))
        finally:
            os.close(descriptor)

    def free(self, path: Path) -> None:
        """Frees the space that `fill` used."""
        self._mounted[path].unlink()

    def remove(self) -> None:
        """Unmounts the disks, the innermost first."""
        for path in reversed(list(self._mounted)):
            _call("umount2", os.fsencode(path), _MNT_DETACH)
        self._mounted.clear()


def _call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
