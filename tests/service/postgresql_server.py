"""A PostgreSQL of the tests' own: Debian's programs, a temporary cluster, a private socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from .conditions import eventually

ACCOUNT = "nobody"  # PostgreSQL will not run as root
USER = "ipulse"


def programs() -> Path | None:
    """Where initdb and postgres are; None when Debian's postgresql is not installed."""
    found = shutil.which("initdb")
    if found and (Path(found).resolve().parent / "postgres").exists():
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


class PostgreSQLServer:
    """Runs while its context is open; what it kept is gone afterwards."""

    def __init__(self, folder: Path, is_durable: bool = False) -> None:
        """Tests of ours need no fsync: it is the processes that they kill."""
        self._programs = folder
        self._fsync = "on" if is_durable else "off"
        self._root = Path(tempfile.mkdtemp(prefix="ipulse-postgresql-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0

    def __enter__(self) -> Self:
        self._as_account(["initdb", "--no-sync", "-U", USER, "-A", "trust", "-E", "UTF8"])
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self._root)

    def start(self) -> None:
        """Returns once it answers."""
        options = ["-c", "listen_addresses=", "-k", str(self._root), "-c", f"fsync={self._fsync}"]
        command = self._command(["postgres", *options])
        log = (self._root / "log").open("ab")
        with log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._account())
        eventually(self._answers)

    def stop(self) -> None:
        """Ends every connection at once."""
        if self._process is not None:
            self._process.send_signal(2)  # SIGINT: the fast shutdown
            self._process.wait(timeout=30)
            self._process = None

    def new_database(self) -> str:
        """The URL of an empty database."""
        self._databases += 1
        name = f"test_{self._databases}_{time.monotonic_ns()}"
        with self._connect() as connection:
            connection.execute(f"CREATE DATABASE {name} STRATEGY = file_copy".encode())
        return f"postgresql://{USER}@/{name}?host={self._root}"

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(host=str(self._root), user=USER, dbname="postgres", autocommit=True)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._root / "log").read_text()
        try:
            self._connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _command(self, command: Sequence[str]) -> list[str]:
        name, *rest = command
        return [str(self._programs / name), "-D", str(self._root / "data"), *rest]

    def _account(self) -> dict[str, object]:
        if os.geteuid() != 0:
            return {}
        account = pwd.getpwnam(ACCOUNT)
        os.chown(self._root, account.pw_uid, account.pw_gid)
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}

    def _as_account(self, command: Sequence[str]) -> None:
        subprocess.run(self._command(command), check=True, capture_output=True, **self._account())
