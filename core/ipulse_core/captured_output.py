"""The output of a process as log events: lines of clean text."""

from __future__ import annotations

import codecs
import re
from typing import Iterator

from ipulse_core.events import MAX_LINE, Level, LogEvent, Stream
from ipulse_core.limits import CONTROL_CHARACTERS, DECEPTIVE_CHARACTERS, escape_deceptive

_TERMINAL_CODES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")


class CapturedOutput:
    """One stream of a process, cut into log events.

    Bytes that are not UTF-8 and control characters become U+FFFD, characters that reorder a line or
    end it for some readers become escapes, and terminal colours are removed.
    A line that carriage returns overwrite keeps its last version, as on a terminal.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._level: Level = "warning" if stream == "stderr" else "info"
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> Iterator[LogEvent]:
        """Returns the lines that `data` completes."""
        text = self._rest + self._decoder.decode(data)
        *lines, self._rest = text.split("\n")
        # The check is fast, and nearly all text is plain: a job may print 10,000 lines at once.
        is_plain = (
            "\r" not in text
            and not CONTROL_CHARACTERS.search(text)
            and (text.isascii() or not DECEPTIVE_CHARACTERS.search(text))
        )
        for line in lines:
            if is_plain and len(line) <= MAX_LINE:
                yield LogEvent(line, self._level, self._stream)
            else:
                yield from self._events(line)
        while len(self._rest) >= MAX_LINE:
            yield from self._events(self._rest[:MAX_LINE])
            self._rest = self._rest[MAX_LINE:]

    def end(self) -> Iterator[LogEvent]:
        """Returns the last line, if it has no newline."""
        rest = self._rest + self._decoder.decode(b"", final=True)
        self._rest = ""
        if rest:
            yield from self._events(rest)

    def _events(self, line: str) -> Iterator[LogEvent]:
        line = line.rstrip("\r").rpartition("\r")[2]
        line = CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", _TERMINAL_CODES.sub("", line))
        line = escape_deceptive(line)
        for begin in range(0, max(len(line), 1), MAX_LINE):
            text = line[begin : begin + MAX_LINE]
            yield LogEvent(text, self._level, self._stream)
