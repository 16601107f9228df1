"""A PostgreSQL server with a synchronous standby behind one address, for the suite."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path
from signal import SIGINT, SIGQUIT
from typing import Any

from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency, Unavailable

ACCOUNT = "nobody"  # PostgreSQL does not run as root
USER = "ipulse"
NAME = "ipulse"  # of the database
START_SECONDS = 60.0
POLL_SECONDS = 0.05
NEEDED = ("initdb", "postgres", "pg_basebackup", "pg_ctl")


def programs() -> Path:
    """Returns the folder of PostgreSQL's programs. Raises MissingDependency."""
    if importlib.util.find_spec("psycopg") is None:
        raise MissingDependency(
            "PostgreSQL needs psycopg 3, which is not installed: "
            + install_hint("postgresql", "ipulse-service")
        )
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if all((folder / name).exists() for name in NEEDED):
            return folder
    raise MissingDependency(
        "there is no PostgreSQL server: install one (Debian: apt-get install postgresql)"
    )


class PostgreSQLServer:
    """A server on a private socket; its folder belongs to the account that it runs under."""

    def __init__(self, programs: Path, folder: Path, is_durable: bool = False) -> None:
        """Without `is_durable` it does not sync: only processes are killed, not the machine."""
        self.sockets = folder / "sockets"
        self._fsync = "on" if is_durable else "off"
        self._programs = programs
        self._folder = folder
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        for path in (folder, self.sockets):
            path.mkdir(mode=0o700)
            if os.geteuid() == 0:
                account = pwd.getpwnam(ACCOUNT)
                os.chown(path, account.pw_uid, account.pw_gid)

    def make(self) -> None:
        """Creates an empty cluster and starts it."""
        self._call("initdb", "--no-sync", "-U", USER, "-A", "trust", "-E", "UTF8")
        self.start()

    def copy(self, of: PostgreSQLServer) -> None:
        """Copies a running server and starts as its standby."""
        self._call("pg_basebackup", "-h", str(of.sockets), "-U", USER, "-R", "-c", "fast")
        self.start()

    def start(self) -> None:
        """Starts the server and returns once it answers. Raises Unavailable."""
        options = ["-c", "listen_addresses=", "-k", str(self.sockets)]
        options += ["-c", f"fsync={self._fsync}"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the server's own program
                self._command("postgres", *options), stdout=log, stderr=log, **self._account()
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                tail = (self._folder / "log").read_text()[-2000:]
                raise Unavailable(f"PostgreSQL does not start:\n{tail}")
            time.sleep(POLL_SECONDS)

    def stop(self, at_once: bool = False) -> None:
        """Stops the server; `at_once` it writes nothing more."""
        if self._process is not None:
            self._process.send_signal(SIGQUIT if at_once else SIGINT)
            self._process.wait()
            self._process = None

    def promote(self) -> None:
        """Makes a standby accept writes."""
        self._call("pg_ctl", "promote", "--wait", "--silent")

    def execute(self, statement: str, database: str = "postgres") -> list[Any]:
        """Runs an SQL statement and returns its rows."""
        import psycopg  # the extra `postgresql`

        where = f"host={self.sockets} user={USER} dbname={database}"
        with closing(psycopg.connect(where, autocommit=True)) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    def _answers(self) -> bool:
        import psycopg

        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _command(self, name: str, *options: str) -> list[str]:
        return [str(self._programs / name), "-D", str(self._data), *options]

    def _call(self, name: str, *options: str) -> None:
        done = subprocess.run(  # noqa: S603 - a program of the server's own
            self._command(name, *options), capture_output=True, check=False, **self._account()
        )
        if done.returncode:
            raise Unavailable(f"{name} failed: {done.stderr.decode(errors='replace')[-2000:]}")

    def _account(self) -> dict[str, Any]:
        if os.geteuid() != 0:
            return {}
        account = pwd.getpwnam(ACCOUNT)
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}


class Servers:
    """A primary and its standby behind one address, a link to the primary's folder."""

    def __init__(self) -> None:
        """Raises MissingDependency without PostgreSQL's programs."""
        self._programs = programs()
        self._root = Path(tempfile.mkdtemp(prefix="ipulse-postgresql-"))
        self._root.chmod(0o711)
        self._address = self._root / "address"
        self._count = 0
        self.primary = self._server()
        self._standby: PostgreSQLServer | None = None

    @property
    def url(self) -> str:
        """The database's URL, the same before and after a failover."""
        return f"postgresql://{USER}@/{NAME}?host={self._address}"

    def start(self) -> None:
        """Starts the primary and its standby."""
        self.primary.make()
        self.primary.execute(f"CREATE DATABASE {NAME}")
        self._lead_to(self.primary)
        self.add_standby()

    def add_standby(self) -> None:
        """Adds a synchronous standby: an acknowledged commit is on both servers."""
        standby = self._server()
        standby.copy(self.primary)
        self._standby = standby
        for setting in ("synchronous_standby_names = '*'", "synchronous_commit = on"):
            self.primary.execute(f"ALTER SYSTEM SET {setting}")
        self.primary.execute("SELECT pg_reload_conf()")
        deadline = time.monotonic() + START_SECONDS
        while self.primary.execute("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
            if time.monotonic() > deadline:
                raise Unavailable("the standby does not follow")
            time.sleep(POLL_SECONDS)

    def restart(self, pause_seconds: float) -> None:
        """Stops the primary at once and restarts it after a pause."""
        self.primary.stop(at_once=True)
        time.sleep(pause_seconds)
        self.primary.start()

    def fail_over(self, pause_seconds: float) -> None:
        """Kills the primary and promotes the standby at its address."""
        standby = self._standby
        assert standby is not None  # noqa: S101 - add_standby is to be called before
        self.primary.stop(at_once=True)
        self._lead_to(standby)
        time.sleep(pause_seconds)
        standby.promote()
        self.primary, self._standby = standby, None

    def stop(self) -> None:
        """Stops both servers and deletes their folders."""
        for server in (self._standby, self.primary):
            if server is not None:
                server.stop()
        shutil.rmtree(self._root)

    def _server(self) -> PostgreSQLServer:
        self._count += 1
        return PostgreSQLServer(self._programs, self._root / f"server-{self._count}")

    def _lead_to(self, server: PostgreSQLServer) -> None:
        draft = self._root / "draft"
        draft.symlink_to(server.sockets)
        draft.replace(self._address)
