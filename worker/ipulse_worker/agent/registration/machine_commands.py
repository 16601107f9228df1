"""Short commands that ask the machine for its resources, and that end with the agent."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence


class MachineCommands:
    """Runs one command at a time; `close` ends the one that is running."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._running: subprocess.Popen[str] | None = None
        self.is_closed = False

    def output(self, command: Sequence[str], seconds: float) -> str:
        """Returns what the command prints.

        Raises OSError if it cannot be started, and subprocess.SubprocessError if it fails, takes
        longer than `seconds`, or is ended by `close`.
        """
        with self._changing:
            if self.is_closed:
                raise subprocess.SubprocessError("the agent is ending")
            self._running = process = subprocess.Popen(  # noqa: S603 - the callers' own commands
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        with process:
            try:
                printed, errors = process.communicate(timeout=seconds)
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, printed, errors)
        return printed

    def close(self, seconds: float) -> None:
        """Kill the command that is running, wait for its end at most `seconds`, start no other."""
        with self._changing:
            self.is_closed = True
            process = self._running
        if process is None:
            return
        process.kill()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:  # in a call of a driver, which no signal interrupts
            return
