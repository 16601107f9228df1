"""Runs a module that reads a document in a process of its own, which limits itself."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple

from ipulse_core.sandbox.processes import kill_tree, tree_of
from ipulse_service.reading.isolation import Isolation

MAX_OUTPUT_BYTES = 16 * 2**20
POLL_SECONDS = 0.05
_BUSY_SHARE = 0.5  # of its time: a process that computed for less waited for the machine
_SIGNALLED = 128


class ReadingStopped(Exception):
    """The document was not to be read any more."""


class ReadingEnd(NamedTuple):
    """The end of a process: its exit status, None if it did not end in time, and its output."""

    status: int | None
    output: bytes

    @property
    def took_too_long(self) -> bool:
        """True if it computed for too long: the document is the reason."""
        return self.status == -signal.SIGXCPU

    @property
    def was_late(self) -> bool:
        """True if it did not end in time without computing: the machine is the reason."""
        return self.status is None

    @property
    def was_killed(self) -> bool:
        """True if something else than the document ended it, such as a lack of memory."""
        return self.status == -signal.SIGKILL

    @property
    def has_failed(self) -> bool:
        """True if its output is of no use."""
        return self.status != 0 or len(self.output) > MAX_OUTPUT_BYTES


def run(
    isolation: Isolation,
    module: str,
    arguments: Sequence[str | Path],
    folder: Path,
    seconds: float,
    must_stop: Callable[[], bool],
    rows: IO[bytes] | None = None,
) -> ReadingEnd:
    """Runs a module and returns how it ended.

    Args:
        isolation: The sandbox, if there is one.
        module: Limits its process before it opens a document.
        arguments: Of the module; a path is a document. The descriptor of `rows` follows.
        folder: Its working directory.
        seconds: How long it may take.
        must_stop: Called often; the process is ended when it returns True.
        rows: A file for a module that writes many rows; it gets its descriptor.

    Raises:
        ReadingStopped: `must_stop` returned True.
        NoSandbox: A sandbox is required, and there is none.
        Unavailable: It does not answer, so that nobody knows whether there is one.
        OSError: The process cannot be started.
    """
    descriptors = [] if rows is None else [rows.fileno()]
    with (
        tempfile.TemporaryFile(dir=folder) as output,
        tempfile.TemporaryFile(dir=folder) as log,
        ExitStack() as stack,
    ):
        words = [*arguments, *map(str, descriptors)]
        command = isolation.command(module, words, folder, environment(), stack)
        process = subprocess.Popen(  # noqa: S603 - our own module
            command.words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=log,
            pass_fds=[*descriptors, *command.descriptors],
            cwd=folder,
            env=command.environment,
            start_new_session=True,
        )
        status = _wait(process, seconds, must_stop)
        if status is not None and status > _SIGNALLED:
            status = _SIGNALLED - status  # as a sandbox reports a signal
        output.seek(0)
        return ReadingEnd(status, output.read(MAX_OUTPUT_BYTES + 1))


def environment() -> dict[str, str]:
    """Returns the variables of the process: no secret of the service is among them."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "OPENBLAS_NUM_THREADS": "1",  # each of its threads takes addresses
        "OMP_NUM_THREADS": "1",
        "HDF5_PLUGIN_PATH": os.devnull,
        "HDF5_USE_FILE_LOCKING": "FALSE",
    }


def _wait(
    process: subprocess.Popen[bytes], seconds: float, must_stop: Callable[[], bool]
) -> int | None:
    """Returns the exit status, or None if it did not end in time."""
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            try:
                return process.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                if must_stop():
                    raise ReadingStopped from None
        computed = sum(map(_processor_seconds, tree_of(process.pid)))  # a sandbox has several
        is_busy = computed >= seconds * _BUSY_SHARE
        return -signal.SIGXCPU if is_busy else None
    finally:
        if process.poll() is None:
            kill_tree(process.pid)  # those in a sandbox have a session of their own
            process.wait()


def _processor_seconds(pid: int) -> float:
    """Returns for how long a process has computed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
