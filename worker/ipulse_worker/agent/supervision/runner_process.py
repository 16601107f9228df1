"""A runner process: its start, its assignment and the messages that it writes."""

from __future__ import annotations

import errno
import json
import logging
import os
import select
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from ipulse.stack.guarded_process import GuardedProcess
from ipulse_core.captured_output import CapturedOutput
from ipulse_core.events import Assignment, LogEvent, ProgressEvent, ReadyEvent
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.log_limits import LogLimits
from ipulse_worker.agent.supervision.runner_environment import runner_environment
from ipulse_worker.agent.supervision.runner_exit import oom_kills
from ipulse_worker.agent.supervision.runner_messages import (
    Ended,
    EventReader,
    Listener,
    RunnerMessage,
)

_log = logging.getLogger(__name__)

READ_BYTES = 65_536


class RunnerProcess:
    """One runner process; call `start`, `listen` and `assign` in this order.

    Its guardian process exists before `start`. One thread passes all messages, from the start on
    and in order, to the listener. A listener that blocks also blocks the runner as soon as the
    pipes are full, so that no messages accumulate here.
    """

    def __init__(self, settings: AgentSettings, held_fds: Sequence[int] = ()) -> None:
        """Start the guardian process.

        Args:
            settings: The agent's settings.
            held_fds: Descriptors that stay open until the whole process tree has ended.

        Raises OSError if the guardian cannot be started.
        """
        self._limits = LogLimits(settings.log_quota_bytes, settings.log_lines_per_second)
        self._events, events = os.pipe()
        try:
            self._process = GuardedProcess(
                [settings.runner_python, "-m", settings.runner_module, "--events-fd", str(events)],
                environment=runner_environment(os.environ, settings.data_dir),
                directory=settings.work_dir,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(events,),
                held_fds=held_fds,
                waits=True,
                has_session=False,  # it shares the niceness of the agent's session
            )
        except BaseException:
            os.close(self._events)
            raise
        finally:
            os.close(events)
        self._event_reader = EventReader()
        self.ready = self._event_reader.ready
        self.ended = threading.Event()  # the listener has received `Ended`
        self._undelivered: list[RunnerMessage] = []
        self._listener: Listener | None = None
        self._delivering = threading.Lock()
        self._oom_kills = 0  # the machine's count when the attempt began
        self._writer: threading.Thread | None = None

    @property
    def pid(self) -> int:
        """The process id, 0 before `start`."""
        return self._process.pid

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the interpreter, with these variables in addition to every runner's.

        Raises OSError if it cannot be started.
        """
        try:
            self._process.start(environment)
        except OSError:
            os.close(self._events)
            raise
        reader = threading.Thread(target=self._read, name=f"runner-{self.pid}", daemon=True)
        try:
            reader.start()
        except RuntimeError as error:
            self.dismiss()
            raise OSError(errno.EAGAIN, str(error)) from error

    def dismiss(self) -> None:
        """End the guardian of a runner that was never started."""
        self.kill()
        self._process.wait()
        self._close()

    def listen(self, listener: Listener) -> None:
        """Pass all messages to `listener`: first those so far, then each as it arrives."""
        with self._delivering:
            for message in self._undelivered:
                listener(message)
            self._undelivered.clear()
            self._listener = listener

    def assign(self, assignment: Assignment) -> None:
        """Send the assignment. If the runner has died, the listener receives `Ended`."""
        line = (json.dumps(assignment.to_json(), allow_nan=False) + "\n").encode()
        self._oom_kills = oom_kills()
        self._event_reader.is_assigned = True
        # A large spec does not fit into the pipe, and a runner that is stuck does not read it.
        self._writer = threading.Thread(target=self._write, args=(line,), daemon=True)
        self._writer.start()

    def terminate(self) -> None:
        """Send SIGTERM to the runner."""
        self._process.terminate()

    def finish(self) -> None:
        """Ask a runner that has its assignment to end the training now, with all its results."""
        self._process.notify()

    def kill(self) -> None:
        """Kill the runner and all its descendants."""
        self._process.kill()

    def undelivered_output(self) -> str:
        """Return the last printed lines that no listener has received."""
        with self._delivering:
            lines = [event.message for event in self._undelivered if isinstance(event, LogEvent)]
        return "\n".join(lines[-20:])

    def _read(self) -> None:
        """Read all pipes until the whole process tree has ended."""
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout is not None  # noqa: S101 - opened as pipes
        assert stderr is not None  # noqa: S101 - opened as pipes
        outputs = {
            stdout.fileno(): self._output_reader(CapturedOutput("stdout")),
            stderr.fileno(): self._output_reader(CapturedOutput("stderr")),
        }

        def read_events(data: bytes) -> None:
            # Lines printed before these events were written are in a pipe by now.
            for output, read in outputs.items():
                if printed := _read_or_nothing(output):
                    read(printed)
            for message in self._event_reader.feed(data):
                if isinstance(message, ReadyEvent):
                    self._log_ready(message)
                self._deliver(message)

        sources: dict[int, Callable[[bytes], None]] = {self._events: read_events, **outputs}
        poll = select.poll()
        poll.register(self._process, select.POLLIN)
        for source in sources:
            os.set_blocking(source, False)
            poll.register(source, select.POLLIN)
        exit_code: int | None = None
        while exit_code is None:
            for ready, _ in poll.poll():
                if ready not in sources:
                    exit_code = self._process.wait()
                    break
                try:
                    data = os.read(ready, READ_BYTES)
                except BlockingIOError:
                    continue  # it was read before an event
                sources[ready](data)
                if not data:
                    poll.unregister(ready)
        for source, read in {**outputs, **sources}.items():
            # All writers have ended: a pipe contains the last data.
            while data := _read_or_nothing(source):
                read(data)
            read(b"")
        self._close()
        killed = oom_kills() - self._oom_kills if self._event_reader.is_assigned else 0
        self._deliver(Ended(exit_code, killed))
        self.ended.set()

    def _write(self, line: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - opened as a pipe
        with suppress(BrokenPipeError):  # it has died: the listener receives `Ended`
            while line:
                line = line[stdin.write(line) :]

    def _output_reader(self, output: CapturedOutput) -> Callable[[bytes], None]:
        def read(data: bytes) -> None:
            if self._limits.is_spent:  # the pipe is still read, so that the runner does not block
                return
            for event in output.feed(data) if data else output.end():
                self._deliver(event)

        return read

    def _log_ready(self, event: ReadyEvent) -> None:
        facts = {name: fact for name, fact in vars(event).items() if name != "kind"}
        _log.info("runner_ready", extra={"pid": self.pid, **facts})

    def _deliver(self, message: RunnerMessage) -> None:
        with self._delivering:
            for admitted in self._within_limits(message):
                if self._listener:
                    self._listener(admitted)
                else:
                    self._keep(admitted)

    def _keep(self, message: RunnerMessage) -> None:
        """Keep a message for the listener; of the runner's start, only where it is now."""
        if isinstance(message, (ProgressEvent, ReadyEvent)):
            self._undelivered = [m for m in self._undelivered if not isinstance(m, ProgressEvent)]
        self._undelivered.append(message)

    def _within_limits(self, message: RunnerMessage) -> Iterator[RunnerMessage]:
        if isinstance(message, LogEvent):
            yield from self._limits.admit(message)
            return
        if isinstance(message, Ended):
            yield from self._limits.end()
        yield message

    def _close(self) -> None:
        if self._writer:
            self._writer.join()
        os.close(self._events)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None  # noqa: S101 - opened as pipes
            pipe.close()


def _read_or_nothing(source: int) -> bytes:
    try:
        return os.read(source, READ_BYTES)
    except BlockingIOError:
        return b""
