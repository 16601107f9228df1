"""Checks that this machine can run a job: room, inodes, a working disk, descriptors, processes."""

from __future__ import annotations

import os
import resource
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.states import POLICIES, Policy, Reason
from ipulse_core.worker_faults import WorkerFault, fault_of
from ipulse_worker.agent.registration.watched_disks import LEAST_INODES, WatchedDisks

CHECK_SECONDS = 2.0  # between two checks of the disk
LEAST_DESCRIPTORS = 32
LIMIT_SECONDS = 30.0  # after a process or thread could not be started
PROBE_BYTES = 4096
RUNNER_THREADS = 16 + 8 * (os.cpu_count() or 1)  # TensorFlow has several pools of threads


class HostCheck:
    """Checks the work directory's disk and remembers faults of attempts. Threads may share it."""

    def __init__(
        self,
        work_dir: Path,
        least_bytes: int,
        wait_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        caches: Iterable[Path] = (),
    ) -> None:
        """Make a check.

        Args:
            work_dir: The directory in which attempts write.
            least_bytes: Room that a job needs.
            wait_seconds: For how long a fault counts of a disk that is not as it was before.
            clock: A monotonic clock.
            caches: Directories of other disks on which attempts write.
        """
        self._work_dir = work_dir
        self._least_bytes = least_bytes
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._fault: WorkerFault | None = None
        self._checked_at = -float("inf")
        self._remembered: WorkerFault | None = None  # how an attempt ended
        self._until = 0.0  # the remembered fault counts until then, at most
        self._disks = WatchedDisks(work_dir, caches)
        self._device: int | None = None  # of the disk that an attempt had filled
        self._is_running = False

    def record(self, reason: Reason, message: str) -> str:
        """Record how an attempt ended; return a sentence if this worker takes no jobs now."""
        if POLICIES.get(reason) is not Policy.RETRY_ON_ANOTHER:
            return ""
        with self._lock:
            is_limit = reason is Reason.WORKER_LIMIT
            self._until = self._clock() + (LIMIT_SECONDS if is_limit else self._wait_seconds)
            self._remembered = WorkerFault(reason, message)
            is_full = reason is Reason.WORKER_DISK_FULL
            self._device = self._disks.device_of(message) if is_full else None
            self._checked_at = -float("inf")
        return f"This worker takes no job until the cause is gone: {message}"

    def lacking(self, outcome: AttemptOutcome, directory: Path) -> dict[str, int]:
        """Return what the attempt in a directory had of what was not enough for it."""
        if outcome.reason is not Reason.WORKER_DISK_FULL:
            return {}
        return self._disks.lacking(outcome.message, directory)

    def capabilities(self) -> dict[str, int]:
        """Return the room for a job, as the agent announces it: that while no attempt runs."""
        with self._lock:
            room = self._disks.idle_room(self._is_running)
        return {} if room is None else room.capabilities()

    def attempt_begins(self) -> None:
        """Note how much is free before an attempt writes."""
        with self._lock:
            self._disks.attempt_begins()
            self._is_running = True

    def attempt_removed(self) -> None:
        """Note that the files of the attempt are gone."""
        with self._lock:
            self._is_running = False
            self._checked_at = -float("inf")

    def fault(self) -> WorkerFault | None:
        """Return why this worker takes no job now, None if it does."""
        with self._lock:
            now = self._clock()
            if now >= self._checked_at + CHECK_SECONDS:
                self._checked_at = now
                self._fault = self._measure() or self._still_remembered(now)
            return self._fault

    def _still_remembered(self, now: float) -> WorkerFault | None:
        if self._remembered is None:
            return None
        is_removed = not self._is_running and self._disks.are_as_before(self._device)
        if now < self._until and not is_removed:
            return self._remembered
        if self._remembered.reason is Reason.WORKER_LIMIT and not _can_start_processes():
            return self._remembered
        self._remembered = None
        return None

    def _measure(self) -> WorkerFault | None:
        try:
            disk = os.statvfs(self._work_dir)
            if disk.f_flag & os.ST_RDONLY:
                return WorkerFault(
                    Reason.WORKER_DISK_FAILED, f"{self._work_dir}: the disk is read-only."
                )
            free = disk.f_bavail * disk.f_frsize
            if free < self._least_bytes:
                return WorkerFault(
                    Reason.WORKER_DISK_FULL,
                    f"{self._work_dir}: {free:,} bytes are free, and a job needs "
                    f"{self._least_bytes:,}.",
                )
            if disk.f_files and disk.f_favail < LEAST_INODES:
                return WorkerFault(
                    Reason.WORKER_DISK_FULL,
                    f"{self._work_dir}: {disk.f_favail:,} inodes are free, and a job needs "
                    f"{LEAST_INODES}.",
                )
            self._write_probe()
            left = _descriptors_left()
        except OSError as error:
            return fault_of(error, self._work_dir) or WorkerFault(
                Reason.WORKER_DISK_FAILED, f"{self._work_dir}: {error.strerror}."
            )
        if left < LEAST_DESCRIPTORS:
            return WorkerFault(
                Reason.WORKER_LIMIT,
                f"The agent may open {left:,} more files, and a job needs {LEAST_DESCRIPTORS}: "
                "raise its limit (ulimit -n).",
            )
        return None

    def _write_probe(self) -> None:
        """Write and remove a small file: a quota or a failing disk shows in no statistics."""
        path = self._work_dir / f".probe-{os.getpid()}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, bytes(PROBE_BYTES))
        finally:
            os.close(descriptor)
            path.unlink(missing_ok=True)


def _descriptors_left() -> int:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit - len(os.listdir("/proc/self/fd"))


def _can_start_processes() -> bool:
    """Return whether a runner can be started: a process, and as many threads as it has."""
    done = threading.Event()
    threads = []
    try:
        for _ in range(RUNNER_THREADS):
            thread = threading.Thread(target=done.wait)
            thread.start()
            threads.append(thread)
        program = shutil.which("true")
        if program:
            os.waitpid(os.posix_spawn(program, [program], {}), 0)
    except (OSError, RuntimeError):
        return False
    finally:
        done.set()
        for thread in threads:
            thread.join()
    return True
