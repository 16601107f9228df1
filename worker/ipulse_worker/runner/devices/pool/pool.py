"""The emulated IPUs of a host; each is used by one process at a time.

An IPU is a file with a lock. The kernel releases the lock when the process ends, so a crash needs
no clean-up. A process waits in a queue, wakes up when an IPU becomes free, and reports which job it
waits for.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

from ipulse_core.ipu import EMULATED_IPUS, EMULATED_IPUS_VARIABLE
from ipulse_worker.runner.devices.pool.close_watcher import CloseWatcher
from ipulse_worker.runner.devices.pool.queue_entry import QueueEntry
from ipulse_worker.runner.devices.pool.waiting import DeviceUnavailable, Holder, Wait, WaitPolicy

MOST_IPUS = 64
CHECK_SECONDS = 0.5  # between two checks for a cancellation
# The event of a file's closing arrives shortly before its lock is free.
SETTLE_SECONDS = 0.01


class Reservation:
    """The IPUs of this process, until `release` or the end of the process."""

    def __init__(self, descriptors: Dict[int, int]) -> None:
        self._descriptors = descriptors
        self.ipus: Tuple[int, ...] = tuple(sorted(descriptors))

    def release(self) -> None:
        """Release the IPUs; may be called twice."""
        while self._descriptors:
            _, descriptor = self._descriptors.popitem()
            os.ftruncate(descriptor, 0)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()


def devices_directory(environment: Mapping[str, str], cache: Path) -> Path:
    """Return the directory in which the processes of this host share their devices."""
    # Several hosts may share the disk of a cache, but not their processors.
    return Path(environment.get("IPULSE_DEVICES") or cache / "devices" / socket.gethostname())


class Pool:
    """The IPUs that share a directory."""

    noun = "emulated IPU"
    more = ", or start the worker with more (ipulse up --emulated-ipus)"

    def __init__(self, directory: Path, ipus: int) -> None:
        self._directory = directory
        self._queue = directory / "queue"
        self.ipus = ipus

    @classmethod
    def of_environment(cls, environment: Mapping[str, str], cache: Path) -> Pool:
        """Return a pool of $IPULSE_EMULATED_IPUS IPUs in the directory $IPULSE_DEVICES.

        The defaults are 4 IPUs and a directory for this host in the cache.

        Raises:
            DeviceUnavailable: the number of IPUs is not from 1 to 64.
        """
        named = environment.get(EMULATED_IPUS_VARIABLE) or str(EMULATED_IPUS)
        if not named.isdigit() or not 1 <= int(named) <= MOST_IPUS:
            raise DeviceUnavailable(
                f"{EMULATED_IPUS_VARIABLE} must be a number from 1 to {MOST_IPUS}; got {named!r}"
            )
        return cls(devices_directory(environment, cache), int(named))

    def acquire(self, wanted: int, job_id: str, policy: WaitPolicy) -> Reservation:
        """Wait until `wanted` IPUs belong to this process alone.

        Raises:
            DeviceUnavailable: there are fewer IPUs, or they did not become free in time.
        """
        if wanted > self.ipus:
            raise DeviceUnavailable(
                f"the job needs {wanted} {self.noun}s and this worker has {self.ipus}: lower "
                f"device.ipus{self.more}"
            )
        self._queue.mkdir(mode=0o700, parents=True, exist_ok=True)
        with CloseWatcher([self._directory, self._queue]) as watcher, QueueEntry(
            self._queue
        ) as entry:
            return self._wait(wanted, job_id, policy, watcher, entry)

    def _wait(
        self,
        wanted: int,
        job_id: str,
        policy: WaitPolicy,
        watcher: CloseWatcher,
        entry: QueueEntry,
    ) -> Reservation:
        start = time.monotonic()
        reported: Optional[Wait] = None
        with _Candidates(self._directory) as candidates:
            while True:
                position = entry.position()
                for group in self.groups(wanted) if position == 1 else ():
                    reservation = candidates.take(group, wanted, job_id)
                    if reservation:
                        return reservation
                wait = Wait(position, self.holder())
                if wait != reported:
                    policy.report(wait)
                    reported = wait
                left = start + policy.timeout_seconds - time.monotonic()
                if left <= 0:
                    raise DeviceUnavailable(self._too_long(wait, policy))
                _wait_for_closing(watcher, min(left, policy.poll_seconds), policy.check)

    def groups(self, wanted: int) -> Iterable[Sequence[int]]:
        """Return groups of IPUs; `wanted` IPUs of one group may be used together."""
        return [range(self.ipus)]

    def holder(self) -> Optional[Holder]:
        """Return the job that has used an IPU longest; None if no job is known."""
        holders = [self._holder_of(ipu) for ipu in range(self.ipus)]
        known = [holder for holder in holders if holder]
        return min(known, key=lambda holder: holder.since, default=None)

    def _holder_of(self, ipu: int) -> Optional[Holder]:
        try:
            content = json.loads(_file(self._directory, ipu).read_bytes())
            os.kill(content["pid"], 0)  # fails if the process was killed
            return Holder(str(content["job_id"]), float(content["since"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None  # free, or its process is just writing the file

    def _too_long(self, wait: Wait, policy: WaitPolicy) -> str:
        holder = f"; job {wait.holder.job_id} uses one" if wait.holder else ""
        return (
            f"no {self.noun} became free within {policy.timeout_seconds:g} s, which is "
            f"{policy.setting}{holder}"
        )


class _Candidates:
    """The IPUs' files, which stay open during a wait: closing one wakes all other processes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: Dict[int, int] = {}

    def take(self, group: Sequence[int], wanted: int, job_id: str) -> Optional[Reservation]:
        """Lock `wanted` IPUs of a group or none, so that two processes cannot block each other."""
        locked: List[int] = []
        for ipu in group:
            if len(locked) < wanted and self._lock(ipu):
                locked.append(ipu)
        if len(locked) < wanted:
            for ipu in locked:
                fcntl.flock(self._open[ipu], fcntl.LOCK_UN)
            return None
        content = json.dumps({"job_id": job_id, "pid": os.getpid(), "since": time.time()}).encode()
        for ipu in locked:
            os.ftruncate(self._open[ipu], 0)
            os.pwrite(self._open[ipu], content, 0)
        return Reservation({ipu: self._open.pop(ipu) for ipu in locked})

    def __enter__(self) -> _Candidates:
        return self

    def __exit__(self, *_: Any) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def _lock(self, ipu: int) -> bool:
        if ipu not in self._open:
            path = str(_file(self._directory, ipu))
            self._open[ipu] = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self._open[ipu], fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False


def _wait_for_closing(watcher: CloseWatcher, seconds: float, check: Callable[[], None]) -> None:
    """Wait until a file was closed, at most `seconds`."""
    until = time.monotonic() + seconds
    while True:
        check()
        left = until - time.monotonic()
        if left <= 0:
            return
        if watcher.wait(min(left, CHECK_SECONDS)):
            watcher.wait(SETTLE_SECONDS)
            return


def _file(directory: Path, ipu: int) -> Path:
    return directory / f"ipu-{ipu}"
