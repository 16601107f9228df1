"""A record of the lease that an agent holds, from which others release it if the agent dies."""

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

from ipulse_worker.agent.lease import AttemptLease

_log = logging.getLogger(__name__)

LOCK, RECORD = ".agent", ".lease"  # runners inherit the open lock, but not the record


@dataclass(frozen=True)
class HeldLease:
    """The lease of an attempt, as an agent recorded it."""

    agent: str
    attempt_id: str
    fence: str
    # The outcome, if the agent has ended without being able to report it.
    reason: str = ""
    message: str = ""


class LeaseRecord:
    """The record of one agent, in a work directory that agents of a machine may share.

    Its lock is open in the agent and, by `fileno`, in each runner and each runner's guardian: no
    other process gets the lock before all of them have ended.
    """

    def __init__(self, root: Path, agent: str) -> None:
        self._root = root
        self._agent = agent
        self._lock = -1
        self._path = root

    def open(self) -> None:
        """Create and lock the lock file. Raises OSError if that is not possible."""
        is_locked = False
        while not is_locked:
            self._path = self._root / f"{secrets.token_hex(8)}{LOCK}"
            self._lock = os.open(self._path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600)
            is_locked = _try_lock(self._lock)
            if not is_locked:  # another agent took it for a dead agent's and removed it
                os.close(self._lock)

    def fileno(self) -> int:
        """Return the descriptor of the lock."""
        return self._lock

    @contextmanager
    def holding(self, lease: AttemptLease) -> Iterator[None]:
        """Record the lease within the context, so that it can be released if the agent dies."""
        self._write(HeldLease(self._agent, lease.attempt_id, lease.fence))
        try:
            yield
        finally:
            _remove(self._path.with_suffix(RECORD))

    def _write(self, held: HeldLease) -> None:
        try:
            with open(self._path.with_suffix(RECORD), "w", opener=_open_private) as file:
                json.dump(asdict(held), file)
        except OSError as error:  # with a full disk the job still runs; the lease expires by itself
            _log.warning("lease_not_recorded", extra={"why": str(error)})

    def close(self, unreported: HeldLease | None = None) -> None:
        """Remove the lock file and release the lock.

        With a lease whose end could not be reported, the files stay for the next agent, which
        reports it.
        """
        if self._lock >= 0:
            if unreported is None:
                _remove(self._path)
            else:
                self._write(unreported)
            os.close(self._lock)
            self._lock = -1


class DeadAgent:
    """The lock of an agent after the end of its processes. The context holds the lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = -1

    def __enter__(self) -> DeadAgent | None:
        """Return None if the agent is alive, or if another process has cleaned up."""
        try:
            self._lock = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        return self if _try_lock(self._lock) else None

    def __exit__(self, *_: object) -> None:
        if self._lock >= 0:
            os.close(self._lock)

    def held_lease(self) -> HeldLease | None:
        """Return the lease that the agent held, if any."""
        try:
            return HeldLease(**json.loads(self._path.with_suffix(RECORD).read_text()))
        except (FileNotFoundError, ValueError, TypeError):  # or it died while it wrote the record
            return None

    def remove(self) -> None:
        """Remove the files of the dead agent."""
        self._path.with_suffix(RECORD).unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)


def dead_agents(root: Path) -> Iterator[DeadAgent]:
    """Return the agents of a work directory; the contexts of those alive return None."""
    return (DeadAgent(path) for path in sorted(root.glob(f"*{LOCK}")))


def _try_lock(descriptor: int) -> bool:
    """Return whether this process has the lock now, on a file that still exists."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(descriptor).st_nlink > 0


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # a read-only disk; other agents find that the lock is free
        _log.warning("lease_not_removed", extra={"why": str(error)})


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
