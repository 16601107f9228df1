"""One part of a stack: a program of ours as a child process, with its log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Mapping, Optional, Sequence

from ipulse.stack.guarded_process import GuardedProcess
from ipulse.stack.program_log import ProgramLog
from ipulse_core.errors import Unavailable

START_SECONDS = 60.0  # for each part; a slow disk and a busy machine need some


class Part:
    """A Python program of ours under a name: its process and its log."""

    def __init__(self, name: str, module: str, log: ProgramLog) -> None:
        self.name = name
        self._module = module
        self.log = log
        self.process: Optional[GuardedProcess] = None

    def start(
        self, environment: Mapping[str, str], directory: Path, pass_fds: Sequence[int] = ()
    ) -> None:
        with self.log.open() as log:
            self.process = GuardedProcess(
                # -P: what lies in the directory is data, and never found by an import.
                [sys.executable, "-P", "-m", self._module],
                environment=environment,
                directory=directory,
                stdout=log,
                stderr=log,
                pass_fds=pass_fds,
            )

    def check_alive(self) -> None:
        """Raises Unavailable, with the end of its log, if it has ended."""
        exit_code = self.process.poll() if self.process else None
        if exit_code is not None:
            raise ended_badly(self.name, exit_code, self.log)

    def not_ready(self) -> Unavailable:
        """The error for one that runs and has not said for too long that it is ready."""
        return Unavailable(
            f"the {self.name} is not ready after {START_SECONDS:g} s; its log says:\n"
            f"{self.log.tail()}"
        )

    def terminate(self) -> None:
        """Asks it to end."""
        if self.process:
            self.process.terminate()

    def end_within(self, seconds: float) -> None:
        """Waits for the end of one that was asked to, and forces it when the time is up."""
        if self.process is None:
            return
        with self.process:
            try:
                self.process.wait(seconds)
            except TimeoutError:
                self.process.kill()
        self.process = None

    def stop(self, seconds: float) -> None:
        """Ends it: gently within so many seconds, then by force."""
        self.terminate()
        self.end_within(seconds)


def ended_badly(name: str, exit_code: int, log: ProgramLog) -> Unavailable:
    """The error for a part that should have gone on; it shows the last lines of its log."""
    how = f"exit code {exit_code}" if exit_code >= 0 else f"signal {-exit_code}"
    return Unavailable(f"the {name} has ended ({how}). The end of {log.path}:\n{log.tail()}")
