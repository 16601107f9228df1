"""What Python code of the runner prints, as log events in the order of all events.

Output of C++ code still goes to the pipes of the process. The agent reads three pipes at once, so
that its order among the events is known only approximately.
"""

from __future__ import annotations

import io
import sys
import threading
from contextlib import suppress
from typing import IO, TextIO

from ipulse_core.captured_output import CapturedOutput
from ipulse_core.events import Stream
from ipulse_worker.runner.event_writer import EventWriter


class OutputStream(io.TextIOBase):
    """A text stream that turns each line into an event."""

    def __init__(self, events: EventWriter, stream: Stream, original: TextIO) -> None:
        self._events = events
        self._captured = CapturedOutput(stream)
        self._original = original
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Write the lines that the text completes as events."""
        with self._lock:
            for event in self._captured.feed(text.encode("utf-8", "backslashreplace")):
                self._events.write(event)
        return len(text)

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the process's own stream."""
        return self._original.fileno()

    @property
    def buffer(self) -> IO[bytes]:
        """The process's own stream of bytes."""
        return self._original.buffer

    def end(self) -> None:
        """Write the last line, if it has no newline."""
        with self._lock:
            for event in self._captured.end():
                self._events.write(event)


def redirect_output(events: EventWriter) -> None:
    """Replace the standard streams of Python."""
    sys.stdout = OutputStream(events, "stdout", sys.stdout)
    sys.stderr = OutputStream(events, "stderr", sys.stderr)


def end_output() -> None:
    """Write what was printed without a newline, unless the agent has ended."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
            if isinstance(stream, OutputStream):
                stream.end()
