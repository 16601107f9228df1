"""The output of a sandboxed command as lines of the log."""

from __future__ import annotations

import os
import threading
from typing import IO, Callable, Optional

from ipulse_core.captured_output import CapturedOutput
from ipulse_core.events import LogEvent, Stream

_READ_BYTES = 65_536
JOIN_SECONDS = 5.0  # for the last output of what a command left running without a sandbox


def log_lines(
    stream: Optional[IO[bytes]], name: Stream, log: Callable[[LogEvent], None]
) -> threading.Thread:
    """Log the lines of a stream, in a thread that ends with it."""
    assert stream is not None  # noqa: S101 - opened as a pipe

    def read(source: IO[bytes] = stream) -> None:
        captured = CapturedOutput(name)
        with source:
            for data in iter(lambda: os.read(source.fileno(), _READ_BYTES), b""):
                for event in captured.feed(data):
                    log(event)
            for event in captured.end():
                log(event)

    thread = threading.Thread(target=read, name=f"sandbox-{name}", daemon=True)
    thread.start()
    return thread
