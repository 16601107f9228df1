"""Real faults of a worker's machine that a test can cause and mend: disks, limits, processes."""

from __future__ import annotations

import fcntl
import os
import resource
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.worker.disks import PIDS, fill, small_disk

_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN: from then on every access is an input/output error
_NO_FLUSH = struct.pack("I", 2)
LEFT_DESCRIPTORS = 20


@dataclass(frozen=True)
class Machine:
    """A worker's machine with one fault, which `cause` and `mend` get for the agent's process."""

    work_dir: Path
    reason: str  # of attempts, and of the agent's fault
    cause: Callable[[int], None]
    mend: Callable[[int], None]


def _run(*command: str) -> str:
    """Run a command that prepares or causes a fault; skip the test without the right to."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{' '.join(command)} is not permitted here: {done.stderr.strip()}")
    return done.stdout.strip()


@contextmanager
def _full(folder: Path) -> Iterator[Machine]:
    with small_disk(folder / "disk", "size=8m,mode=0700") as disk:
        fillers: list[Path] = []

        def cause(_pid: int) -> None:
            fillers.append(fill(disk))

        def mend(_pid: int) -> None:
            fillers.pop().unlink()

        yield Machine(disk, "worker_disk_full", cause, mend)


@contextmanager
def _without_inodes(folder: Path) -> Iterator[Machine]:
    with small_disk(folder / "disk", "size=64m,nr_inodes=200,mode=0700") as disk:
        taken: list[Path] = []

        def cause(_pid: int) -> None:
            while os.statvfs(disk).f_favail:
                path = disk / f"{len(taken)}.taken"
                path.touch()
                taken.append(path)

        def mend(_pid: int) -> None:
            for path in taken:
                path.unlink()

        yield Machine(disk, "worker_disk_full", cause, mend)


@contextmanager
def _read_only(folder: Path) -> Iterator[Machine]:
    """The mount becomes read-only although files are open for writing."""
    with small_disk(folder / "disk", "size=64m,mode=0700") as disk:

        def cause(_pid: int) -> None:
            _run("mount", "-o", "remount,bind,ro", str(disk))

        def mend(_pid: int) -> None:
            subprocess.run(["mount", "-o", "remount,bind,rw", disk], check=True)

        yield Machine(disk, "worker_disk_failed", cause, mend)


@contextmanager
def _failing(folder: Path) -> Iterator[Machine]:
    image, disk = folder / "image", folder / "disk"
    disk.mkdir()
    with image.open("wb") as file:
        file.truncate(64 * 2**20)
    with ExitStack() as undoing:
        _run("mkfs.ext4", "-q", str(image))
        device = _run("losetup", "--find", "--show", str(image))
        undoing.callback(subprocess.run, ["losetup", "--detach", device], check=False)
        _run("mount", device, str(disk))
        undoing.callback(subprocess.run, ["umount", "--lazy", str(disk)], check=False)
        disk.chmod(0o700)

        def cause(_pid: int) -> None:
            descriptor = os.open(disk, os.O_RDONLY)
            try:
                fcntl.ioctl(descriptor, _SHUTDOWN, _NO_FLUSH)
            finally:
                os.close(descriptor)

        def mend(_pid: int) -> None:
            """Put another disk into its place: files are still open on the former one."""
            subprocess.run(["umount", "--lazy", disk], check=True)
            mount = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "tmpfs", disk]
            subprocess.run(mount, check=True)

        yield Machine(disk, "worker_disk_failed", cause, mend)


@contextmanager
def _without_descriptors(folder: Path) -> Iterator[Machine]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def cause(pid: int) -> None:
        used = psutil.Process(pid).num_fds()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + LEFT_DESCRIPTORS, before[1]))

    def mend(pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)

    yield Machine(folder, "worker_limit", cause, mend)


@contextmanager
def _without_processes(folder: Path) -> Iterator[Machine]:
    group = PIDS / f"ipulse-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"a group of processes cannot be made here: {error}")

    def cause(pid: int) -> None:
        agent = psutil.Process(pid)
        # A guardian may wait already for the next runner.
        for process in (agent, *agent.children(recursive=True)):
            (group / "cgroup.procs").write_text(str(process.pid))
        # Enough for the agent and the first threads of a runner; those that run already stay.
        (group / "pids.max").write_text(str(agent.num_threads() + 4))

    def mend(pid: int) -> None:
        (group / "pids.max").write_text("max")

    try:
        yield Machine(folder, "worker_limit", cause, mend)
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            (PIDS / "cgroup.procs").write_text(pid)
        group.rmdir()


MACHINES = {
    "full disk": _full,
    "no inodes": _without_inodes,
    "read-only disk": _read_only,
    "failing disk": _failing,
    "no descriptors": _without_descriptors,
    "no processes": _without_processes,
}
