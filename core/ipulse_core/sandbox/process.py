"""A process in a sandbox: how it starts, is watched and ends, and how it answers requests."""

from __future__ import annotations

import fcntl
import os
import select
import subprocess  # runs the sandbox
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Callable, Dict, List, NamedTuple, Optional, Sequence, Union

from ipulse_core.events import LogEvent
from ipulse_core.sandbox.cgroup import ControlGroup
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.sandbox.output import JOIN_SECONDS, log_lines
from ipulse_core.sandbox.processes import kill_tree
from ipulse_core.sandbox.watch import LimitWatch

_PIPE_BYTES = 2**20
_POLL_SECONDS = 0.2
GRACE_SECONDS = 1.0  # for the last output of a process that has nothing left to do


class PreparedCommand(NamedTuple):
    """A command as the system starts it."""

    command: List[str]
    environment: Dict[str, str]
    descriptors: List[int]  # that it inherits
    group: Optional[ControlGroup]  # that it joins

    def discard(self) -> None:
        """Remove the group of a command that could not be started."""
        if self.group is not None:
            self.group.close()


class ProcessEnded(Exception):
    """The process has ended, or took too long. `exceeded` says which limit it passed, if any."""

    def __init__(self, exceeded: Optional[str], lacked_processes: bool = False) -> None:
        super().__init__(exceeded or "ended")
        self.exceeded = exceeded  # "memory", "seconds" or None
        self.lacked_processes = lacked_processes  # it wanted more than its limit


class SandboxedProcess:
    """One process: its output becomes lines of the log, and it ends where it exceeds its limits."""

    def __init__(
        self,
        prepared: PreparedCommand,
        limits: SandboxLimits,
        log: Callable[[LogEvent], None],
        check: Callable[[], None],
        stdin: Union[int, IO[bytes]] = subprocess.DEVNULL,
        ends: Sequence[int] = (),
        directory: Optional[Path] = None,
    ) -> None:
        """Start the command.

        Args:
            prepared: the command; its group is removed with the process.
            limits: of all its processes together.
            log: receives the output.
            check: raises an error if the attempt was cancelled; the process is then ended.
            stdin: its standard input.
            ends: of pipes, that it inherits; their numbers are added to its arguments. A signal to
                the group of this process does not reach one that has them: a cancelled training may
                still need it for its last step.
            directory: where it starts, if it is not in a sandbox.
        """
        try:
            self._process = subprocess.Popen(  # noqa: S603 (in a sandbox)
                [*prepared.command, *map(str, ends)],
                env=prepared.environment,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[*prepared.descriptors, *ends],
                cwd=None if directory is None else str(directory),
                start_new_session=bool(ends),
            )
        except BaseException:
            prepared.discard()
            raise
        self.watch = LimitWatch(self._process.pid, limits, check, prepared.group)
        self._threads = [
            log_lines(self._process.stdout, "stdout", log),
            log_lines(self._process.stderr, "stderr", log),
        ]

    def wait(self, seconds: Optional[float] = None) -> int:
        """Return the exit status. Raises TimeoutExpired."""
        return self._process.wait(seconds)

    def end(self) -> None:
        """End it and everything that it started, and log its last output."""
        self.watch.stop()
        if self._process.poll() is None:
            kill_tree(self._process.pid)
        self._process.wait()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)


class AnsweringProcess:
    """A process that answers requests on two pipes; all that arrives is to be mistrusted."""

    def __init__(
        self,
        prepared: PreparedCommand,
        limits: SandboxLimits,
        log: Callable[[LogEvent], None],
        directory: Optional[Path],
    ) -> None:
        """Start the command; the numbers of its ends of the pipes are added to its arguments."""
        reads, self._write_end = os.pipe()
        self._read_end, writes = os.pipe()
        with suppress(OSError):  # not more than the machine allows
            for end in (reads, writes):
                fcntl.fcntl(end, getattr(fcntl, "F_SETPIPE_SZ", 1031), _PIPE_BYTES)
        os.set_blocking(self._write_end, False)
        try:
            self._process = SandboxedProcess(
                prepared,
                limits,
                log,
                lambda: None,
                ends=(reads, writes),
                directory=directory,
            )
        except BaseException:
            os.close(self._write_end)
            os.close(self._read_end)
            raise
        finally:
            os.close(reads)
            os.close(writes)

    def send(self, data: Union[bytes, memoryview], deadline: float) -> None:
        """Write all bytes. Raises ProcessEnded."""
        left = memoryview(data)
        while left:
            self._wait(self._write_end, select.POLLOUT, deadline)
            try:
                left = left[os.write(self._write_end, left[:_PIPE_BYTES]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._ended() from None

    def receive(
        self, into: memoryview, deadline: float, idle: Callable[[], None] = lambda: None
    ) -> int:
        """Read some bytes into a buffer and return how many, at least one. Raises ProcessEnded.

        `idle` is called again and again until they are there, and once in any case.
        """
        self._wait(self._read_end, select.POLLIN, deadline, idle)
        count = os.readv(self._read_end, [into[:_PIPE_BYTES]])
        if not count:
            raise self._ended()
        return count

    def close(self) -> None:
        """End the process and everything that it started."""
        if self._write_end < 0:
            return
        os.close(self._write_end)  # it ends when there are no more requests
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_SECONDS)
        self._process.end()
        os.close(self._read_end)
        self._write_end = self._read_end = -1

    def _wait(
        self,
        descriptor: int,
        event: int,
        deadline: float,
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        is_ready = False
        while not is_ready:
            # Also asked while bytes arrive: they might come one by one, without an end.
            if self._process.watch.exceeded or time.monotonic() > deadline:
                raise self._ended(is_late=True)
            idle()
            is_ready = bool(poll.poll(_POLL_SECONDS * 1000))

    def _ended(self, is_late: bool = False) -> ProcessEnded:
        """Return why there is no answer, after the end of the process."""
        self.close()
        watch = self._process.watch
        exceeded = watch.exceeded or ("seconds" if is_late else None)
        return ProcessEnded(exceeded, watch.lacked_processes)
