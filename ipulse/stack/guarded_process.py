"""A child process that can leave nothing behind: see `ipulse.stack.guardian`."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from types import MappingProxyType, TracebackType
from typing import IO, Dict, Mapping, Optional, Sequence, Type, Union

_GUARDIAN = Path(__file__).with_name("guardian.py")

Stream = Union[int, IO[bytes], None]


class GuardedProcess:
    """A program in a group of its own, which dies with the process that started it.

    `pid` is the program's own, 0 before it is started. It counts as ended when its whole tree of
    descendants is gone, also those that moved to another session. Raises OSError if the program
    cannot be executed.
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
        """`held_fds` stay open until the program and all its descendants are gone.

        One that waits has its guardian already, which takes most of the time, and no program
        until `start` is called. One without a session of its own stays in its starter's, and so
        shares with it what Linux gives to each session of the processors (sched(7), autogroup).
        """
        self._command = list(command)
        orders, self._orders = os.pipe()
        self._report, report = os.pipe()
        told = [str(descriptor) for descriptor in (orders, report, *held_fds)]
        try:
            self._guardian = subprocess.Popen(  # noqa: S603 - the command is the caller's own
                [sys.executable, "-I", "-S", str(_GUARDIAN), *told],
                bufsize=0,  # several threads may share a pipe; none may hide bytes in a buffer
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=dict(environment),
                cwd=str(directory),
                pass_fds=(orders, report, *pass_fds, *held_fds),
                start_new_session=has_session,
            )
        except BaseException:
            os.close(self._orders)
            os.close(self._report)
            raise
        finally:
            os.close(orders)
            os.close(report)
        self.stdin = self._guardian.stdin
        self.stdout = self._guardian.stdout
        self.stderr = self._guardian.stderr
        self._lock = threading.Lock()  # a closed descriptor's number may be somebody else's
        self.pid = 0
        self._heard = b""
        self._gone = False
        self._exit_code: Optional[int] = None
        if not waits:
            self.start()

    def start(self, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        """Starts the program of one that waits, with these variables besides.

        Raises OSError if it cannot be executed, or the guardian has died.
        """
        variables = [f"{name}={value}" for name, value in environment.items()]
        told = b"\0".join(map(os.fsencode, [*self._command, *variables]))
        self._order(b"%d %d\n%b" % (len(told), len(self._command), told))
        self.pid = self._await_start(self._command[0])

    def terminate(self) -> None:
        """Sends SIGTERM to the program."""
        self._order(b"T")

    def kill(self) -> None:
        """Sends SIGKILL to the program and all its descendants."""
        self._order(b"K")

    def poll(self) -> Optional[int]:
        """The exit code (negative: a signal) once the whole tree is gone, else None."""
        try:
            return self.wait(timeout=0)
        except TimeoutError:
            return None

    def wait(self, timeout: Optional[float] = None) -> int:
        """Waits until the whole tree is gone; returns the program's exit code.

        Raises TimeoutError after `timeout` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._gone:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._readable(left):
                raise TimeoutError(f"process {self.pid} has not ended within {timeout} s")
            self._hear()
        if self._exit_code is None:  # the guardian itself was killed, and so the program
            return -SIGKILL
        return self._exit_code

    def fileno(self) -> int:
        """Readable once the program has ended; for `select` and `poll`."""
        return self._report

    def __enter__(self) -> GuardedProcess:
        """On leaving, the tree is killed if it still runs, and the pipes are closed."""
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.kill()
        self.wait()
        self._close_pipes()

    def _order(self, order: bytes) -> None:
        with self._lock, suppress(BrokenPipeError):  # nobody is left to obey
            if not self._gone:
                os.write(self._orders, order)

    def _await_start(self, program: str) -> int:
        while b"\n" not in self._heard and not self._gone:
            self._hear()
        line, _, self._heard = self._heard.partition(b"\n")
        facts: Dict[str, int] = json.loads(line) if line else {}
        if "pid" not in facts:
            if not self._gone:
                self._end()
            self._close_pipes()
            number = facts.get("errno", 0)
            raise OSError(number, os.strerror(number) if number else "not started", program)
        return facts["pid"]

    def _hear(self) -> None:
        heard = os.read(self._report, 4096)
        self._heard += heard
        if heard:
            return
        if self._heard and self._heard.endswith(b"\n"):
            self._exit_code = json.loads(self._heard).get("exit_code")
        self._end()

    def _end(self) -> None:
        with self._lock:
            self._gone = True
            os.close(self._orders)
            os.close(self._report)
        self._guardian.wait()
        if self._exit_code is None and self.pid:
            # Killed without a word: the program died with it, but its group may linger.
            with suppress(ProcessLookupError):
                os.killpg(self.pid, SIGKILL)

    def _close_pipes(self) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()

    def _readable(self, timeout: Optional[float]) -> bool:
        waiting = select.poll()
        waiting.register(self._report, select.POLLIN)
        return bool(waiting.poll(None if timeout is None else timeout * 1000))
