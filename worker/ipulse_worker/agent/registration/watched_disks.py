"""The disks on which attempts write: what was free before an attempt, and what it lacked."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from ipulse_core.capabilities import DISK_BYTES, DISK_TOTAL_BYTES, INODES, INODES_TOTAL

LEAST_INODES = 64
AS_BEFORE = 0.9  # share of what was free before an attempt
BLOCK = 512  # bytes of `st_blocks`


class Room(NamedTuple):
    """The room on a disk."""

    free_bytes: int
    free_inodes: int
    total_bytes: int
    total_inodes: int  # 0: the file system makes them as needed

    @classmethod
    def of(cls, path: Path) -> Room:
        """Measure the disk of a path. Raises OSError."""
        disk = os.statvfs(path)
        unit = disk.f_frsize
        return cls(disk.f_bavail * unit, disk.f_favail, disk.f_blocks * unit, disk.f_files)

    @property
    def lacks_inodes(self) -> bool:
        """True if a job cannot make its files for lack of inodes."""
        return bool(self.total_inodes) and self.free_inodes < LEAST_INODES

    def is_as(self, before: Room) -> bool:
        """Return whether there is as much room as before, but for small files of others."""
        has_bytes = self.free_bytes >= AS_BEFORE * before.free_bytes
        return has_bytes and self.free_inodes >= AS_BEFORE * before.free_inodes

    def capabilities(self) -> dict[str, int]:
        """Return the room as an agent announces it."""
        found = {DISK_BYTES: self.free_bytes, DISK_TOTAL_BYTES: self.total_bytes}
        if self.total_inodes:
            found |= {INODES: self.free_inodes, INODES_TOTAL: self.total_inodes}
        return found


class WatchedDisks:
    """The disks of the work directory, the caches and temporary files of an agent."""

    def __init__(self, work_dir: Path, others: Iterable[Path] = ()) -> None:
        self._work_dir = work_dir
        self._paths = (work_dir, *others)
        self._before: Mapping[int, tuple[Path, Room]] = {}  # by device, while an attempt runs

    def attempt_begins(self) -> None:
        """Measure all disks before an attempt writes on them."""
        found: dict[int, tuple[Path, Room]] = {}
        for path in self._paths:
            try:
                found.setdefault(path.stat().st_dev, (path, Room.of(path)))
            except OSError:  # a cache that does not exist yet, or a disk that fails
                continue
        self._before = found

    def are_as_before(self, device: int | None) -> bool:
        """Return whether a disk has as much room as before the attempt, False if not known."""
        path, before = self._before.get(device or 0, (None, None))
        if path is None or before is None:
            return False
        try:
            return Room.of(path).is_as(before)
        except OSError:
            return False

    def idle_room(self, is_running: bool) -> Room | None:
        """Return the room of the work directory while no attempt runs, None if not known."""
        try:
            if is_running:
                _, before = self._before[self._work_dir.stat().st_dev]
                return before
            return Room.of(self._work_dir)
        except (OSError, LookupError):
            return None

    def device_of(self, message: str) -> int | None:
        """Return the device of the path with which a message of a fault begins.

        That of the work directory for a path that only a sandbox has. None if not known.
        """
        path = Path(message.partition(": ")[0])
        try:
            if path.is_absolute():
                while not path.exists():
                    path = path.parent
                if path != path.parent:  # else no folder of it exists here
                    return path.stat().st_dev
            return self._work_dir.stat().st_dev
        except OSError:
            return None

    def lacking(self, message: str, directory: Path) -> dict[str, int]:
        """Return what the attempt in a directory had of what was not enough for it.

        That is what it used and what was left: without the others' use of the disk, which differs
        at each time. Empty for a fault of another disk than that of the work directory.
        """
        try:
            if self.device_of(message) != self._work_dir.stat().st_dev:
                return {}
            room = Room.of(self._work_dir)
        except OSError:
            return {}
        used_bytes, used_inodes = _use(directory)
        if room.lacks_inodes:
            return {INODES: used_inodes + room.free_inodes}
        if os.strerror(errno.EDQUOT) in message:  # a disk does not say how much a user may have
            return {DISK_BYTES: used_bytes}
        return {DISK_BYTES: used_bytes + room.free_bytes}


def _use(directory: Path) -> tuple[int, int]:
    """Return the bytes and inodes that the files of a directory take."""
    seen: set[int] = set()
    used = 0
    for folder, names, files in os.walk(directory):
        for name in (*names, *files):
            try:
                status = os.lstat(os.path.join(folder, name))
            except OSError:
                continue
            if status.st_ino not in seen:
                seen.add(status.st_ino)
                used += status.st_blocks * BLOCK
    return used, len(seen)
