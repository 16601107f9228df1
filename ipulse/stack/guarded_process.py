"""A child process that leaves no processes behind; see `ipulse.stack.guardian`."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from types import MappingProxyType, TracebackType
from typing import IO

_GUARDIAN = Path(__file__).with_name("guardian.py")

Stream = int | IO[bytes] | None


class GuardedProcess:
    """A program in its own process group, which ends with the process that started it.

    `pid` is the program's id, 0 before the start. It has ended when all its descendants have ended,
    including those in other sessions. Raises OSError if the program cannot be executed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: Path,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
        pass_fds: Sequence[int] = (),
        held_fds: Sequence[int] = (),
        waits: bool = False,
        has_session: bool = True,
    ) -> None:
        """Start the guardian and, unless `waits`, the program.

        Args:
            command: The program and its arguments.
            environment: All its variables.
            directory: Its working directory.
            stdin: As in subprocess.Popen.
            stdout: As in subprocess.Popen.
            stderr: As in subprocess.Popen.
            pass_fds: Descriptors that the program inherits.
            held_fds: Descriptors that stay open until the program and its descendants have ended.
            waits: Whether to start only the guardian; `start` then starts the program faster.
            has_session: Whether it gets its own session; without one it shares the processor
                time of its starter's session (sched(7), autogroup).
        """
        self._command = list(command)
        commands, self._commands = os.pipe()
        self._report, report = os.pipe()
        descriptors = [str(descriptor) for descriptor in (commands, report, *held_fds)]
        try:
            self._guardian = subprocess.Popen(  # noqa: S603 - the caller's command
                [sys.executable, "-I", "-S", str(_GUARDIAN), *descriptors],
                bufsize=0,  # unbuffered, because several threads may share a pipe
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=dict(environment),
                cwd=str(directory),
                pass_fds=(commands, report, *pass_fds, *held_fds),
                start_new_session=has_session,
            )
        except BaseException:
            os.close(self._commands)
            os.close(self._report)
            raise
        finally:
            os.close(commands)
            os.close(report)
        self.stdin = self._guardian.stdin
        self.stdout = self._guardian.stdout
        self.stderr = self._guardian.stderr
        self._lock = threading.Lock()  # the number of a closed descriptor may be reused
        self.pid = 0
        self._received = b""
        self._gone = False
        self._exit_code: int | None = None
        if not waits:
            self.start()

    def start(self, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        """Start the program of a waiting guardian, with additional variables.

        Raises OSError if the program cannot be executed, or the guardian has died.
        """
        variables = [f"{name}={value}" for name, value in environment.items()]
        message = b"\0".join(map(os.fsencode, [*self._command, *variables]))
        self._send(b"%d %d\n%b" % (len(message), len(self._command), message))
        self.pid = self._await_start(self._command[0])

    def terminate(self) -> None:
        """Send SIGTERM to the program."""
        self._send(b"T")

    def notify(self) -> None:
        """Send SIGUSR1 to the program."""
        self._send(b"U")

    def kill(self) -> None:
        """Send SIGKILL to the program and all its descendants."""
        self._send(b"K")

    def poll(self) -> int | None:
        """Return the exit code (negative: a signal) once all processes have ended, else None."""
        try:
            return self.wait(timeout=0)
        except TimeoutError:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait until all processes have ended; return the program's exit code.

        Raises TimeoutError after `timeout` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._gone:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._readable(left):
                raise TimeoutError(f"process {self.pid} has not ended within {timeout} s")
            self._receive()
        if self._exit_code is None:  # the guardian was killed, and with it the program
            return -SIGKILL
        return self._exit_code

    def fileno(self) -> int:
        """Return a descriptor that is readable once the program has ended, for `select`."""
        return self._report

    def __enter__(self) -> GuardedProcess:
        """Return self; leaving the context kills all processes and closes the pipes."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self.wait()
        self._close_pipes()

    def _send(self, command: bytes) -> None:
        with self._lock, suppress(BrokenPipeError):  # the guardian has ended
            if not self._gone:
                os.write(self._commands, command)

    def _await_start(self, program: str) -> int:
        while b"\n" not in self._received and not self._gone:
            self._receive()
        line, _, self._received = self._received.partition(b"\n")
        facts: dict[str, int] = json.loads(line) if line else {}
        if "pid" not in facts:
            if not self._gone:
                self._end()
            self._close_pipes()
            number = facts.get("errno", 0)
            raise OSError(number, os.strerror(number) if number else "not started", program)
        return facts["pid"]

    def _receive(self) -> None:
        data = os.read(self._report, 4096)
        self._received += data
        if data:
            return
        if self._received and self._received.endswith(b"\n"):
            self._exit_code = json.loads(self._received).get("exit_code")
        self._end()

    def _end(self) -> None:
        with self._lock:
            self._gone = True
            os.close(self._commands)
            os.close(self._report)
        self._guardian.wait()
        if self._exit_code is None and self.pid:
            # The guardian was killed, and the program with it, but its group may still run.
            with suppress(ProcessLookupError):
                os.killpg(self.pid, SIGKILL)

    def _close_pipes(self) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()

    def _readable(self, timeout: float | None) -> bool:
        waiting = select.poll()
        waiting.register(self._report, select.POLLIN)
        return bool(waiting.poll(None if timeout is None else timeout * 1000))


def how_it_ended(exit_code: int) -> str:
    """Return an exit code in words; a negative one is the signal that ended the program."""
    return f"exit code {exit_code}" if exit_code >= 0 else f"signal {-exit_code}"
