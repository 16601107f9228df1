"""The home of a local stack: a private folder with all its state, used by one stack at a time."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ipulse import agent_tokens
from ipulse.key_file import key_in
from ipulse.stack.program_log import ProgramLog
from ipulse.stack.tls import first_certificate
from ipulse_core.errors import Conflict, Unavailable
from ipulse_core.worker_faults import errors_name

DEFAULT_HOME = "~/.local/state/ipulse"
TOKEN_BYTES = 32  # of randomness
# Addresses that mean every interface, and the address of the service on this machine.
REACHED_AS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - an address to avoid


class Home:
    """The paths in a home folder; `open` creates the missing ones."""

    user = "stack"  # what uses such a home
    variable = "IPULSE_HOME"  # names another one

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self.server_file = self.path / "server.json"
        self.certificate_file = self.path / "certificate.pem"  # of the service, with TLS only
        self.token_file = self.path / "token"
        self.agent_key_file = self.path / "agent-key"
        self._agents = self.path / "agents"
        self.artifacts = self.path / "artifacts"
        self.redis = self.path / "redis"
        self.work = self.path / "work"
        self.devices = self.path / "devices"  # locks of devices in use
        self._logs = self.path / "logs"
        self._lock: int | None = None

    def open(self) -> None:
        """Lock the home for this process and create the missing files.

        Raises Conflict if another process has locked it, Unavailable if it cannot be created or if
        other users can read it.
        """
        self._open_folder()
        # A stack that was killed leaves this file behind.
        self.server_file.unlink(missing_ok=True)
        if not self.token_file.exists():
            write_private(self.token_file, secrets.token_urlsafe(TOKEN_BYTES) + "\n")
        key_in(self.agent_key_file)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the home while the context is open; it is created if it is missing.

        Raises Conflict and Unavailable as `open`.
        """
        self._open_folder()
        try:
            yield
        finally:
            self.close()

    def _open_folder(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(
                f"the home {self.path} cannot be created ({error.strerror}): choose another with "
                f"--home or {self.variable}"
            ) from error
        self._check_private()
        self._lock_home()
        self._logs.mkdir(mode=0o700, exist_ok=True)

    def keep_certificate(self, path: Path | None) -> None:
        """Copy the first certificate of a file to the home, where clients find it.

        Raises OSError if the file cannot be read.
        """
        self.certificate_file.unlink(missing_ok=True)
        if path is not None:
            text = first_certificate(path)
            with errors_name(self.certificate_file):
                self.certificate_file.write_text(text)

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def agent_token_file(self, process: str) -> Path:
        """Write the token of a local agent by the name of its process; return the file.

        Raises Unavailable if the key of the tokens cannot be used.
        """
        key = key_in(self.agent_key_file)
        name = agent_tokens.local_name(key, process)
        self._agents.mkdir(mode=0o700, exist_ok=True)
        path = self._agents / f"{process}.token"
        write_private(path, agent_tokens.token_of(key, name) + "\n")
        return path

    def log(self, name: str) -> ProgramLog:
        """Return the log of a process by the name of the process."""
        return ProgramLog(self._logs / f"{name}.log")

    def _check_private(self) -> None:
        status = self.path.stat()
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise Unavailable(
                f"{self.path} is for tokens and must be private to this user: "
                f"chmod 700 {self.path}, or choose another home with {self.variable}"
            )

    def _lock_home(self) -> None:
        """Lock the home; the kernel releases the lock when this process ends."""
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(lock)
            raise Conflict(
                f"{self.path} is in use by the {self.user} of process {holder}: stop it, or choose "
                f"another home with {self.variable}"
            ) from None
        with errors_name(self.path / "lock"):
            os.ftruncate(lock, 0)
            os.write(lock, f"{os.getpid()}\n".encode())
        self._lock = lock


def home_folder(home: str | os.PathLike[str] | None, environment: Mapping[str, str]) -> Path:
    """Return the home of a local stack."""
    chosen = home or environment.get(Home.variable) or DEFAULT_HOME
    return Path(chosen).expanduser()


def write_private(path: Path, text: str) -> None:
    """Write a file that contains a secret, atomically and readable only by this user."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with errors_name(path), os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
