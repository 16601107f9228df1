"""What a runner prints, as log events: clean text, within a quota and not faster than a rate."""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Callable, Iterator
from typing import Literal

from ipulse_core.events import MAX_LINE, Level, LogEvent
from ipulse_core.schema import CONTROL_CHARACTERS

# What a line costs beside its text, so that a flood of empty lines has an end too.
LINE_OVERHEAD_BYTES = 64
BURST_SECONDS = 10  # of the permitted rate, which a start or a traceback may say at once

_TERMINAL_CODES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")


class CapturedOutput:
    """One stream of a process, cut into log events.

    Bytes that are not UTF-8 and control characters become U+FFFD; terminal colours go; of a line
    overwritten by carriage returns the last version stays, as on a terminal.
    """

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self._stream = stream
        self._level: Level = "warning" if stream == "stderr" else "info"
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> Iterator[LogEvent]:
        """The lines that are complete with `data`."""
        text = self._rest + self._decoder.decode(data)
        *lines, self._rest = text.split("\n")
        # Nearly all text is plain, and a job may print 10,000 lines at once.
        is_plain = "\r" not in text and not CONTROL_CHARACTERS.search(text)
        for line in lines:
            if is_plain and len(line) <= MAX_LINE:
                yield LogEvent(line, self._level, self._stream)
            else:
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
        for begin in range(0, max(len(line), 1), MAX_LINE):
            text = line[begin : begin + MAX_LINE]
            yield LogEvent(text, self._level, self._stream)


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


class LogRate:
    """Lets so many lines a second through; says how many it left out once it lets one through."""

    def __init__(
        self, lines_per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = lines_per_second
        self._burst = max(1.0, lines_per_second * BURST_SECONDS)
        self._allowance = self._burst  # lines
        self._clock = clock
        self._since = clock()
        self._left_out = 0

    def admit(self, event: LogEvent) -> Iterator[LogEvent]:
        """The event, unless too many came before it; the notice goes in front."""
        now = self._clock()
        self._allowance = min(self._burst, self._allowance + (now - self._since) * self._rate)
        self._since = now
        if self._allowance < 1:
            self._left_out += 1
            return
        self._allowance -= 1
        yield from self.end()
        yield event

    def end(self) -> Iterator[LogEvent]:
        """The notice, if anything was left out since the last one."""
        if self._left_out:
            left_out, self._left_out = self._left_out, 0
            yield LogEvent(
                message=f"{left_out:,} lines were left out here: "
                f"a job may write {self._rate:g} a second.",
                level="warning",
                stream="agent",
            )
