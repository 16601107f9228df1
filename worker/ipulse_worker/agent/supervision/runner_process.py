"""One runner: a process of its own for one attempt, and what it says while it lives."""

from __future__ import annotations

import logging
import os
import select
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from ipulse.stack.guarded_process import GuardedProcess
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput
from ipulse_core.events import Assignment, LogEvent, ReadyEvent, parse_event
from ipulse_core.schema import to_json
from ipulse_worker.agent.settings import Settings
from ipulse_worker.agent.supervision.captured_output import CapturedOutput, LogQuota, LogRate
from ipulse_worker.agent.supervision.memory_shortage import oom_kills
from ipulse_worker.agent.supervision.runner_environment import runner_environment
from ipulse_worker.agent.supervision.runner_messages import (
    MAX_EVENT_BYTES,
    Ended,
    Lines,
    Listener,
    Message,
    Violation,
)

_log = logging.getLogger(__name__)

READ_BYTES = 65_536


class RunnerProcess:
    """Waits for `start`, `listen` and `assign`, in this order; what guards it is there before.

    Everything it says, from its start on, is told to the listener in order, by one thread. A
    listener that blocks stops the runner as soon as the pipes are full: nothing piles up here.
    """

    def __init__(self, settings: Settings, held_fds: Sequence[int] = ()) -> None:
        """`held_fds` stay open as long as any process of it lives. Raises OSError."""
        self._quota = LogQuota(settings.log_quota_bytes)
        self._rate = LogRate(settings.log_lines_per_second)
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
                has_session=False,  # the niceness of the agent's holds for it, too
            )
        except BaseException:
            os.close(self._events)
            raise
        finally:
            os.close(events)
        self.ready = threading.Event()  # it has said so
        self.ended = threading.Event()  # and `Ended` was told
        self._unheard: list[Message] = []
        self._listener: Listener | None = None
        self._telling = threading.Lock()
        self._is_assigned = False
        self._oom_kills = 0  # of the machine, when it was assigned something
        self._writer: threading.Thread | None = None
        self._has_violated = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, environment: Mapping[str, str]) -> None:
        """environment: beyond what every runner is told.

        Raises OSError if the interpreter cannot be started.
        """
        try:
            self._process.start(environment)
        except OSError:
            os.close(self._events)
            raise
        threading.Thread(target=self._read, name=f"runner-{self.pid}", daemon=True).start()

    def dismiss(self) -> None:
        """Ends one that was never started."""
        self.kill()
        self._process.wait()
        self._close()

    def listen(self, listener: Listener) -> None:
        """Tells `listener` what was said so far, and from now on everything."""
        with self._telling:
            for message in self._unheard:
                listener(message)
            self._unheard.clear()
            self._listener = listener

    def assign(self, assignment: Assignment) -> None:
        """Hands over the one thing to do. If the runner is dead, `Ended` will say so."""
        line = (strict_json.dumps(to_json(assignment)) + "\n").encode()
        self._oom_kills = oom_kills()
        self._is_assigned = True
        # A large spec does not fit into the pipe, and a runner that is stuck does not read it.
        self._writer = threading.Thread(target=self._write, args=(line,), daemon=True)
        self._writer.start()

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        """Ends the runner and all its descendants."""
        self._process.kill()

    def last_words(self) -> str:
        """What it has printed of late that nobody has listened to."""
        with self._telling:
            lines = [said.message for said in self._unheard if isinstance(said, LogEvent)]
        return "\n".join(lines[-20:])

    def _read(self) -> None:
        """Reads all pipes until the whole tree of processes is gone."""
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout is not None  # noqa: S101 - they were asked for as pipes
        assert stderr is not None  # noqa: S101
        lines = Lines()
        sources: dict[int, Callable[[bytes], None]] = {
            self._events: lambda data: self._hear_lines(lines.feed(data)),
            stdout.fileno(): self._hear_output(CapturedOutput("stdout")),
            stderr.fileno(): self._hear_output(CapturedOutput("stderr")),
        }
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
                data = os.read(ready, READ_BYTES)
                sources[ready](data)
                if not data:
                    poll.unregister(ready)
        for source, hear in sources.items():
            # No writer is left, so what a pipe still holds is all there will ever be.
            while data := _read_or_nothing(source):
                hear(data)
            hear(b"")
        self._close()
        self._tell(Ended(exit_code, oom_kills() - self._oom_kills if self._is_assigned else 0))
        self.ended.set()

    def _write(self, line: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - it was asked for as a pipe
        with suppress(BrokenPipeError):  # it is dead, and `Ended` says so
            while line:
                line = line[stdin.write(line) :]

    def _hear_output(self, output: CapturedOutput) -> Callable[[bytes], None]:
        def hear(data: bytes) -> None:
            if self._quota.is_spent:  # reading on keeps the runner from blocking
                return
            for event in output.feed(data) if data else output.end():
                self._tell(event)

        return hear

    def _hear_lines(self, lines: list[bytes]) -> None:
        for line in lines:
            if self._has_violated:
                return
            message = self._understand(line)
            self._has_violated = isinstance(message, Violation)
            self._tell(message)

    def _understand(self, line: bytes) -> Message:
        if len(line) > MAX_EVENT_BYTES:
            return Violation(f"The runner wrote an event of more than {MAX_EVENT_BYTES:,} bytes.")
        try:
            event = parse_event(strict_json.loads(line))
        except InvalidInput as error:
            what = "; ".join(str(problem) for problem in error.problems[:3])
            shown = ascii(line[:200].decode("utf-8", "replace"))
            return Violation(f"The runner wrote a line that is no event: {shown} ({what[:500]})")
        if isinstance(event, ReadyEvent):
            if self.ready.is_set():
                return Violation("The runner said twice that it is ready.")
            _log.info(
                "runner_ready",
                extra={
                    "pid": self.pid,
                    "python": event.python,
                    "tensorflow": event.tensorflow,
                    "import_seconds": event.import_seconds,
                },
            )
            self.ready.set()
        elif not self._is_assigned and not isinstance(event, LogEvent):
            return Violation(f"The runner said {event.kind} before it had anything to do.")
        return event

    def _tell(self, message: Message) -> None:
        with self._telling:
            for one in self._within_limits(message):
                if self._listener:
                    self._listener(one)
                else:
                    self._unheard.append(one)

    def _within_limits(self, message: Message) -> Iterator[Message]:
        if isinstance(message, LogEvent):
            for line in self._rate.admit(message):
                yield from self._quota.admit(line)
            return
        if isinstance(message, Ended):
            for notice in self._rate.end():
                yield from self._quota.admit(notice)
        yield message

    def _close(self) -> None:
        if self._writer:
            self._writer.join()
        os.close(self._events)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None  # noqa: S101 - all three were asked for
            pipe.close()


def _read_or_nothing(source: int) -> bytes:
    try:
        return os.read(source, READ_BYTES)
    except BlockingIOError:
        return b""
