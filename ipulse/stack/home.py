"""The folder where an embedded stack keeps all it has: private, and used by one stack at a time."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from pathlib import Path
from typing import Optional

from ipulse.stack.program_log import ProgramLog
from ipulse.stack.tls import first_certificate
from ipulse_core.errors import Conflict, Unavailable

TOKEN_BYTES = 32  # of randomness
# A service that listens everywhere on the machine, and where to find it there.
REACHED_AS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - an address to avoid


class Home:
    """Knows what lies where, and makes what is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self.server_file = self.path / "server.json"
        self.certificate_file = self.path / "certificate.pem"  # the service's, if it has one
        self.token_file = self.path / "token"
        self.worker_token_file = self.path / "worker-token"
        self.artifacts = self.path / "artifacts"
        self.redis = self.path / "redis"
        self.work = self.path / "work"
        self._logs = self.path / "logs"
        self._lock: Optional[int] = None

    def open(self) -> None:
        """Takes the home for this process and makes what is missing.

        Raises Conflict if another process has it, Unavailable if it cannot be made or if others may
        look into it.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(
                f"{self.path} cannot be a home ({error.strerror}): choose another with --home or "
                "IPULSE_HOME"
            ) from error
        self._check_private()
        self._take()
        self._logs.mkdir(mode=0o700, exist_ok=True)
        # Whoever died here last could not take its announcement back.
        self.server_file.unlink(missing_ok=True)
        for token_file in (self.token_file, self.worker_token_file):
            if not token_file.exists():
                _write_token(token_file)

    def keep_certificate(self, path: Optional[Path]) -> None:
        """Shows clients at this home whom to trust: a copy of the first certificate in a file.

        Raises OSError if it cannot be read."""
        self.certificate_file.unlink(missing_ok=True)
        if path is not None:
            self.certificate_file.write_text(first_certificate(path))

    def close(self) -> None:
        """Lets another process have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def log(self, name: str) -> ProgramLog:
        return ProgramLog(self._logs / f"{name}.log")

    def _check_private(self) -> None:
        status = self.path.stat()
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise Unavailable(
                f"{self.path} must belong to this user and be closed to others, because tokens lie "
                f"in it: chmod 700 {self.path}, or choose another home with IPULSE_HOME"
            )

    def _take(self) -> None:
        """Locks the home. The kernel lets go of the lock when this process ends, however."""
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(lock)
            raise Conflict(
                f"{self.path} is in use by the stack of process {holder}: stop that one, or choose "
                "another home with IPULSE_HOME"
            ) from None
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
        self._lock = lock


def _write_token(path: Path) -> None:
    """A new secret that only this user can ever read; there in full, or not there."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
