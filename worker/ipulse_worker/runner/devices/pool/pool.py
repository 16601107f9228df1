"""The emulated IPUs of a host: each is held by one process at a time.

An IPU is a file, and holding it a lock that the kernel drops when the process ends, however it
ends: nothing is left to clean up after a crash. Who wants one waits for its turn, is woken when
one becomes free, and is told behind whom it waits.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ipulse_core.errors import Unavailable
from ipulse_worker.runner.devices.pool.close_watcher import CloseWatcher
from ipulse_worker.runner.devices.pool.queue_entry import QueueEntry

IPUS = 4  # unless the worker says otherwise: those of one IPU-M2000
MOST_IPUS = 64
CHECK_SECONDS = 0.5  # between two looks whether the attempt was cancelled meanwhile
# A file's closing is heard a moment before its lock is free.
SETTLE_SECONDS = 0.01


class DeviceUnavailable(Unavailable):
    """The worker has no such device, or none became free in time."""

    code = "device_unavailable"


class Holder(NamedTuple):
    """Who has an IPU."""

    job_id: str
    since: float  # seconds since 1970


class Wait(NamedTuple):
    """Behind whom one waits."""

    position: int  # in the queue, from 1
    holder: Optional[Holder]  # that has had an IPU longest, if anybody says that it has one

    def __str__(self) -> str:
        words = f"number {self.position} in the queue"
        if self.holder:
            held = max(0.0, time.time() - self.holder.since)
            words += f", behind job {self.holder.job_id}, which has had one for {held:.0f} s"
        return words


class WaitPolicy(NamedTuple):
    """How long to wait, and whom to tell."""

    poll_seconds: float  # a look at least so often
    timeout_seconds: float
    check: Callable[[], None]  # raises whatever stops the wait
    tell: Callable[[Wait], None]  # when it begins, and when it has changed


class Reservation:
    """IPUs that this process holds, until `release` or its end."""

    def __init__(self, descriptors: Dict[int, int]) -> None:
        self._descriptors = descriptors
        self.ipus: Tuple[int, ...] = tuple(sorted(descriptors))

    def release(self) -> None:
        """Gives them back. Doing so twice is no error."""
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
    """Where the processes of this host say which devices they have."""
    # A cache may lie on a disk that several hosts share; their processors are not shared.
    return Path(environment.get("IPULSE_DEVICES") or cache / "devices" / socket.gethostname())


class Pool:
    """The IPUs of a directory."""

    def __init__(self, directory: Path, ipus: int) -> None:
        self._directory = directory
        self._queue = directory / "queue"
        self.ipus = ipus

    @classmethod
    def of_environment(cls, environment: Mapping[str, str], cache: Path) -> Pool:
        """$IPULSE_EMULATED_IPUS IPUs in $IPULSE_DEVICES; else those of this host, in the cache.

        Raises DeviceUnavailable if that is no number from 1 to 64.
        """
        named = environment.get("IPULSE_EMULATED_IPUS") or str(IPUS)
        if not named.isdigit() or not 1 <= int(named) <= MOST_IPUS:
            raise DeviceUnavailable(
                f"IPULSE_EMULATED_IPUS must be a number from 1 to {MOST_IPUS}; got {named!r}"
            )
        return cls(devices_directory(environment, cache), int(named))

    def acquire(self, wanted: int, job_id: str, patience: WaitPolicy) -> Reservation:
        """Waits until so many IPUs are this process's alone.

        Raises DeviceUnavailable if there are not so many, or none was free in time.
        """
        if wanted > self.ipus:
            raise DeviceUnavailable(
                f"the job needs {wanted} emulated IPUs and this worker has {self.ipus}: lower "
                "device.ipus, or start it with more (ipulse up --emulated-ipus)"
            )
        self._queue.mkdir(mode=0o700, parents=True, exist_ok=True)
        with CloseWatcher([self._directory, self._queue]) as closings, QueueEntry(
            self._queue
        ) as turn:
            return self._wait(wanted, job_id, patience, closings, turn)

    def _wait(
        self,
        wanted: int,
        job_id: str,
        patience: WaitPolicy,
        closings: CloseWatcher,
        turn: QueueEntry,
    ) -> Reservation:
        begun = time.monotonic()
        told: Optional[Wait] = None
        with _Candidates(self._directory, self.ipus) as candidates:
            while True:
                position = turn.position()
                lease = candidates.take(wanted, job_id) if position == 1 else None
                if lease:
                    return lease
                wait = Wait(position, self.holder())
                if wait != told:
                    patience.tell(wait)
                    told = wait
                left = begun + patience.timeout_seconds - time.monotonic()
                if left <= 0:
                    raise DeviceUnavailable(_too_long(wait, patience.timeout_seconds))
                _rest(closings, min(left, patience.poll_seconds), patience.check)

    def holder(self) -> Optional[Holder]:
        """Who has had an IPU longest, of those that say so."""
        found = [self._holder_of(ipu) for ipu in range(self.ipus)]
        return min((one for one in found if one), key=lambda one: one.since, default=None)

    def _holder_of(self, ipu: int) -> Optional[Holder]:
        try:
            said = json.loads(_file(self._directory, ipu).read_bytes())
            os.kill(said["pid"], 0)  # nobody there: it was killed, and nobody wanted it since
            return Holder(str(said["job_id"]), float(said["since"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None  # free, or held by somebody who is just writing it


class _Candidates:
    """The IPUs' files, open while one waits: to close one is to wake all others."""

    def __init__(self, directory: Path, ipus: int) -> None:
        self._directory = directory
        self._ipus = ipus
        self._open: Dict[int, int] = {}

    def take(self, wanted: int, job_id: str) -> Optional[Reservation]:
        """All of them or none, so that two who want several cannot block each other."""
        locked: List[int] = []
        for ipu in range(self._ipus):
            if len(locked) < wanted and self._lock(ipu):
                locked.append(ipu)
        if len(locked) < wanted:
            for ipu in locked:
                fcntl.flock(self._open[ipu], fcntl.LOCK_UN)
            return None
        said = json.dumps({"job_id": job_id, "pid": os.getpid(), "since": time.time()}).encode()
        for ipu in locked:
            os.ftruncate(self._open[ipu], 0)
            os.pwrite(self._open[ipu], said, 0)
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


def _rest(closings: CloseWatcher, seconds: float, check: Callable[[], None]) -> None:
    """Until something was closed, or the time is over."""
    until = time.monotonic() + seconds
    while True:
        check()
        left = until - time.monotonic()
        if left <= 0:
            return
        if closings.wait(min(left, CHECK_SECONDS)):
            closings.wait(SETTLE_SECONDS)
            return


def _file(directory: Path, ipu: int) -> Path:
    return directory / f"ipu-{ipu}"


def _too_long(wait: Wait, seconds: float) -> str:
    behind = f"; job {wait.holder.job_id} has one" if wait.holder else ""
    return (
        f"no emulated IPU became free within {seconds:g} s, which is "
        f"device.acquire_timeout_seconds{behind}"
    )
