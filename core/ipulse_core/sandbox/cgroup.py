"""Control groups: the kernel's limits of all processes of a sandbox together, in both versions.

Each sandbox has a group of its own below that of this process, which must be allowed to make one.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Dict, List, Mapping

from ipulse_core.sandbox.cgroup_folders import NoControlGroup, usable_hierarchies
from ipulse_core.sandbox.limits import SPARE_PROCESSES, SandboxLimits

# Not "ipulse-sandbox-": earlier versions on the same machine would kill these groups.
_PREFIX = "ipulse-sandbox."
# The PID namespace of the runner, its PID and start, and a counter.
_NAME = re.compile(re.escape(_PREFIX) + "([0-9]+)-([0-9]+)-([0-9]+)-[0-9]+")
_WAIT_SECONDS = 5.0  # for the end of killed processes
_CPU_PERIOD = 100_000  # in microseconds
_counter = itertools.count()


class ControlGroup:
    """The group of one sandbox."""

    def __init__(self, version: int, folders: Mapping[str, Path]) -> None:
        """Take the new folders of the group, by controller."""
        self._version = version
        self._folders = dict(folders)

    @classmethod
    def make(cls, limits: SandboxLimits, files_bytes: int) -> ControlGroup:
        """Make a group with limits.

        Args:
            limits: of its processes.
            files_bytes: the most that its files in memory may have, which the kernel also counts.

        Raises NoControlGroup.
        """
        found = usable_hierarchies()
        pid = os.getpid()
        name = f"{_PREFIX}{_namespace()}-{pid}-{_started(pid)}-{next(_counter)}"
        group = cls(found.version, {key: path / name for key, path in found.folders.items()})
        try:
            for parent in set(found.folders.values()):
                _remove_abandoned(parent)
            for folder in set(group._folders.values()):
                folder.mkdir()
            group._limit(limits, files_bytes)
        except OSError as error:
            group.close()
            raise NoControlGroup(f"{error.filename}: {error.strerror}") from error
        return group

    @property
    def entries(self) -> List[str]:
        """The files to which a process writes its id to join the group."""
        return sorted({str(folder / "cgroup.procs") for folder in self._folders.values()})

    def memory_bytes(self) -> int:
        """Return the memory that is no file, in bytes."""
        memory = self._folders["memory"]
        names = (
            ("memory.usage_in_bytes", "total_cache")
            if self._version == 1
            else (
                "memory.current",
                "file",
            )
        )
        used = _number(memory / names[0])
        return max(0, used - _fields(memory / "memory.stat").get(names[1], 0))

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel ended a process because the memory was used up."""
        name = "memory.oom_control" if self._version == 1 else "memory.events"
        return _fields(self._folders["memory"] / name).get("oom_kill", 0) > 0

    def lacked_processes(self) -> bool:
        """Return whether the kernel refused a process or thread."""
        return _fields(self._folders["pids"] / "pids.events").get("max", 0) > 0

    def kill(self) -> None:
        """Kill all processes of the group."""
        with suppress(OSError):
            if self._version == 2:
                (self._folders["memory"] / "cgroup.kill").write_text("1")
        for pid in self._processes():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill what is left in the group, and remove it."""
        deadline = time.monotonic() + _WAIT_SECONDS
        for folder in set(self._folders.values()):
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > deadline:
                        break  # the next group that is made removes it
                    self.kill()
                    time.sleep(0.005)

    def _processes(self) -> List[int]:
        with suppress(OSError):
            text = (self._folders["pids"] / "cgroup.procs").read_text()
            # Version 2 reports processes of other namespaces as 0, which means one's own group.
            return [pid for pid in map(int, text.split()) if pid > 0]
        return []

    def _limit(self, limits: SandboxLimits, files_bytes: int) -> None:
        total = limits.memory_bytes + files_bytes
        memory, pids = self._folders["memory"], self._folders["pids"]
        (pids / "pids.max").write_text(str(limits.processes + SPARE_PROCESSES))
        quota = _CPU_PERIOD * len(os.sched_getaffinity(0))
        if self._version == 1:
            (memory / "memory.limit_in_bytes").write_text(str(total))
            with_swap = memory / "memory.memsw.limit_in_bytes"
            if with_swap.exists():
                with_swap.write_text(str(total))
            if "cpu" in self._folders:
                _write_if_there(self._folders["cpu"] / "cpu.cfs_quota_us", quota)
            return
        (memory / "memory.max").write_text(str(total))
        _write_if_there(memory / "memory.swap.max", 0)
        _write_if_there(memory / "memory.oom.group", 1)
        _write_if_there(memory / "cpu.max", f"{quota} {_CPU_PERIOD}")


def _remove_abandoned(parent: Path) -> None:
    """Remove the groups that killed runners of this PID namespace left."""
    own = _namespace()
    for folder in parent.glob(f"{_PREFIX}*"):
        match = _NAME.fullmatch(folder.name)
        if match is None or match[1] != own:
            continue
        if _started(int(match[2])) != match[3]:
            group = ControlGroup(0, {"pids": folder})
            group.kill()
            with suppress(OSError):
                folder.rmdir()


def _namespace() -> str:
    """Return the inode of this process's PID namespace. Raises NoControlGroup."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError as error:
        raise NoControlGroup(f"{error.filename}: {error.strerror}") from error


def _started(pid: int) -> str:
    """Return when a process began, in ticks since the machine did; empty if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return ""


def _fields(path: Path) -> Dict[str, int]:
    with suppress(OSError, ValueError):
        pairs = (line.split() for line in path.read_text().splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs}
    return {}


def _number(path: Path) -> int:
    with suppress(OSError, ValueError):
        return int(path.read_text())
    return 0


def _write_if_there(path: Path, value: object) -> None:
    if path.exists():
        path.write_text(str(value))
