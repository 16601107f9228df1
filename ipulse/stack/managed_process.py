"""A managed process of a stack: one of our programs as a child process, with its log."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ipulse import log_file
from ipulse.stack.guarded_process import GuardedProcess, how_it_ended
from ipulse.stack.program_log import ProgramLog
from ipulse_core.checkout import python_path
from ipulse_core.errors import Unavailable

START_SECONDS = 300.0  # for each process; one that ends is noticed at once, a busy machine is slow
# The directory contains data, and no import may find files there. Python 3.10 has no such option.
_SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()
# Variables for the client, which no process of a stack inherits.
_NOT_INHERITED = ("IPULSE_TOKEN", "IPULSE_TOKEN_FILE", "IPULSE_URL")


class ManagedProcess:
    """One of our Python programs, with its name, its process and its log."""

    def __init__(self, name: str, module: str, log: ProgramLog) -> None:
        self.name = name
        self._module = module
        self.log = log
        self.process: GuardedProcess | None = None

    def start(
        self, environment: Mapping[str, str], directory: Path, pass_fds: Sequence[int] = ()
    ) -> None:
        """Start the program, with its output in the log."""
        with self.log.open() as log:
            self.process = GuardedProcess(
                [sys.executable, *_SAFE_PATH, "-m", self._module],
                environment={**environment, log_file.VARIABLE: str(self.log.path)},
                directory=directory,
                stdout=log,
                stderr=log,
                pass_fds=pass_fds,
            )

    def check_alive(self) -> None:
        """Raise Unavailable, with the end of the log, if the process has ended."""
        exit_code = self.process.poll() if self.process else None
        if exit_code is not None:
            raise ended_badly(self.name, exit_code, self.log)

    def not_ready(self) -> Unavailable:
        """Return the error for a process that runs but was not ready in time."""
        return Unavailable(
            f"the {self.name} is not ready after {START_SECONDS:g} s; the end of its log:\n"
            f"{self.log.tail()}"
        )

    def terminate(self) -> None:
        """Send SIGTERM."""
        if self.process:
            self.process.terminate()

    def end_within(self, seconds: float) -> None:
        """Wait for the end after SIGTERM; send SIGKILL when the time is up."""
        if self.process is None:
            return
        with self.process, suppress(TimeoutError):  # the context's end kills
            self.process.wait(seconds)
        self.process = None

    def stop(self, seconds: float) -> None:
        """End the process: SIGTERM, then SIGKILL after so many seconds."""
        self.terminate()
        self.end_within(seconds)


def ended_badly(name: str, exit_code: int, log: ProgramLog) -> Unavailable:
    """Return the error for a process that ended unexpectedly.

    It has the reason that the program logged, or else the end of its log.
    """
    reason = log.reason()
    if reason:
        return Unavailable(f"the {name} cannot start: {reason}")
    how = how_it_ended(exit_code)
    return Unavailable(f"the {name} has ended ({how}). The end of {log.path}:\n{log.tail()}")


def inherited_environment() -> dict[str, str]:
    """Return the variables that a process of a stack inherits, with the path of our packages."""
    environment = {k: v for k, v in os.environ.items() if k not in _NOT_INHERITED}
    path = python_path(environment.get("PYTHONPATH", ""))
    return {**environment, "PYTHONPATH": path} if path else environment
