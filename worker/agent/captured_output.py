"""What a runner prints, as log events: lines of clean text, and no more than a quota of them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Literal

from ipulse.events import LogEvent
from ipulse.schema import CONTROL_CHARACTERS

MAX_LINE = 16_384  # characters that a log event holds; a longer line becomes several events
# What a line costs beside its text, so that a flood of empty lines has an end too.
LINE_OVERHEAD_BYTES = 64

_TERMINAL_CODES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")


class CapturedOutput:
    """One stream of a process, cut into log events.

    Bytes that are not UTF-8 and control characters become U+FFFD; terminal colours go; of a line
    overwritten by carriage returns the last version stays, as on a terminal.
    """

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> Iterator[LogEvent]:
        """The lines that are complete with `data`."""
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            yield from self._events(line)
        while len(self._rest) >= MAX_LINE:
            yield from self._events(self._rest[:MAX_LINE])
            self._rest = self._rest[MAX_LINE:]

    def end(self) -> Iterator[LogEvent]:
        """The last line, if it had no newline."""
        rest = self._rest + self._decoder.decode(b"", final=True)
        self._rest = ""
        if rest:
            yield from self._events(rest)

    def _events(self, line: str) -> Iterator[LogEvent]:
        line = line.rstrip("\r").rpartition("\r")[2]
        line = CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", _TERMINAL_CODES.sub("", line))
        level: Literal["info", "warning"] = "warning" if self._stream == "stderr" else "info"
        for begin in range(0, max(len(line), 1), MAX_LINE):
            text = line[begin : begin + MAX_LINE]
            yield LogEvent(message=text, level=level, stream=self._stream)


class LogQuota:
    """Lets so many bytes of log through, then says once that there was more."""

    def __init__(self, quota_bytes: int) -> None:
        self._quota = quota_bytes
        self._left = quota_bytes
        self.is_spent = False

    def admit(self, event: LogEvent) -> Iterator[LogEvent]:
        """The event while the quota lasts; the notice in place of the first one beyond it."""
        if self.is_spent:
            return
        self._left -= len(event.message.encode()) + LINE_OVERHEAD_BYTES
        if self._left >= 0:
            yield event
            return
        self.is_spent = True
        yield LogEvent(
            message=f"The log of this attempt has reached its quota of {self._quota:,} bytes; "
            "what follows is not kept.",
            level="warning",
            stream="agent",
        )
