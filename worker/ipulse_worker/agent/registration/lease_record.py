"""What an agent leaves behind when it dies: the lease that it held, for another to give back."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ipulse_worker.agent.supervision.lease import Lease

_log = logging.getLogger(__name__)

LOCK, RECORD = ".agent", ".lease"  # a runner holds the one, and is not told the other


@dataclass(frozen=True)
class Left:
    """An attempt that nobody works on any more."""

    agent: str
    attempt_id: str
    fence: str


class LeaseRecord:
    """One agent's, in the work directory that it may share with other agents of the machine.

    Its lock is open in the agent and, by `fileno`, in each runner and each runner's guardian:
    nobody else gets it before all of them are dead, however they died.
    """

    def __init__(self, root: Path, agent: str) -> None:
        self._root = root
        self._agent = agent
        self._lock = -1
        self._path = root

    def open(self) -> None:
        """Raises OSError where the work directory cannot be written."""
        is_there = False
        while not is_there:
            self._path = self._root / f"{secrets.token_hex(8)}{LOCK}"
            self._lock = os.open(self._path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600)
            is_there = _try_lock(self._lock)
            if not is_there:  # before it was locked, somebody took it for a dead agent's
                os.close(self._lock)

    def fileno(self) -> int:
        return self._lock

    @contextmanager
    def holding(self, lease: Lease) -> Iterator[None]:
        """Open while the lease is held: whoever finds the agent dead may say that it is lost."""
        record = self._path.with_suffix(RECORD)
        left = Left(self._agent, lease.attempt_id, lease.fence)
        try:
            with open(record, "w", opener=_privately) as file:
                json.dump(asdict(left), file)
        except OSError as error:  # a full disk costs no job: a lease also runs out by itself
            _log.warning("lease_not_recorded", extra={"why": str(error)})
        try:
            yield
        finally:
            record.unlink(missing_ok=True)

    def close(self) -> None:
        if self._lock >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = -1


class DeadAgent:
    """The lock of an agent of which nothing lives; while its context is open, ours."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = -1

    def __enter__(self) -> DeadAgent | None:
        """None if the agent lives, or another has looked after it."""
        try:
            self._lock = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        return self if _try_lock(self._lock) else None

    def __exit__(self, *_: object) -> None:
        if self._lock >= 0:
            os.close(self._lock)

    def left(self) -> Left | None:
        """What it was working on, if anything."""
        try:
            return Left(**json.loads(self._path.with_suffix(RECORD).read_text()))
        except (FileNotFoundError, ValueError, TypeError):  # ... or died before that was written
            return None

    def bury(self) -> None:
        """Nobody need look at it again."""
        self._path.with_suffix(RECORD).unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)


def dead_agents(root: Path) -> Iterator[DeadAgent]:
    """To be opened one after the other; those that live give nothing."""
    return (DeadAgent(path) for path in sorted(root.glob(f"*{LOCK}")))


def _try_lock(descriptor: int) -> bool:
    """Whether the lock is ours now, on a file that is still there."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(descriptor).st_nlink > 0


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
