"""The output of a runner as log events: clean text, limited in bytes and in lines per second."""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Callable, Iterator
from typing import Literal

from ipulse_core.events import MAX_LINE, Level, LogEvent
from ipulse_core.limits import CONTROL_CHARACTERS, DECEPTIVE_CHARACTERS, escape_deceptive

# Counted for each line in addition to its text, so that empty lines use up the quota too.
LINE_OVERHEAD_BYTES = 64
BURST_SECONDS = 10  # lines of so many seconds may come at once, as a traceback does

_TERMINAL_CODES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")


class CapturedOutput:
    """One stream of a process, cut into log events.

    Bytes that are not UTF-8 and control characters become U+FFFD, characters that reorder a line or
    end it for some readers become escapes, and terminal colours are removed.
    A line that carriage returns overwrite keeps its last version, as on a terminal.
    """

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self._stream = stream
        self._level: Level = "warning" if stream == "stderr" else "info"
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> Iterator[LogEvent]:
        """Return the lines that `data` completes."""
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
        """Return the last line, if it has no newline."""
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


class LogQuota:
    """Limits the bytes of a log; a notice marks where it was cut off."""

    def __init__(self, quota_bytes: int) -> None:
        self._quota = quota_bytes
        self._left = quota_bytes
        self.is_spent = False

    def admit(self, event: LogEvent) -> Iterator[LogEvent]:
        """Return the event while the quota lasts, then the notice, then nothing."""
        if self.is_spent:
            return
        self._left -= len(event.message.encode()) + LINE_OVERHEAD_BYTES
        if self._left >= 0:
            yield event
            return
        self.is_spent = True
        yield LogEvent(
            message=f"The log of this attempt has reached its quota of {self._quota:,} bytes; "
            "later lines are not stored.",
            level="warning",
            stream="agent",
        )


class LogRate:
    """Limits the lines per second of a log; notices say how many lines were dropped."""

    def __init__(
        self, lines_per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = lines_per_second
        self._burst = max(1.0, lines_per_second * BURST_SECONDS)
        self._allowance = self._burst  # lines
        self._clock = clock
        self._since = clock()
        self._dropped = 0

    def admit(self, event: LogEvent) -> Iterator[LogEvent]:
        """Return the event unless it exceeds the rate; a notice may come before it."""
        now = self._clock()
        self._allowance = min(self._burst, self._allowance + (now - self._since) * self._rate)
        self._since = now
        if self._allowance < 1:
            self._dropped += 1
            return
        self._allowance -= 1
        yield from self.end()
        yield event

    def end(self) -> Iterator[LogEvent]:
        """Return a notice if lines were dropped since the last one."""
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            yield LogEvent(
                message=f"{dropped:,} lines were dropped here: "
                f"a job may write {self._rate:g} lines per second.",
                level="warning",
                stream="agent",
            )


class LogLimits:
    """Applies the rate and the quota of an attempt's log."""

    def __init__(self, quota_bytes: int, lines_per_second: float) -> None:
        self._quota = LogQuota(quota_bytes)
        self._rate = LogRate(lines_per_second)

    @property
    def is_spent(self) -> bool:
        """True once the quota is used up."""
        return self._quota.is_spent

    def admit(self, event: LogEvent) -> Iterator[LogEvent]:
        """Return the event unless a limit excludes it; notices may come before it."""
        for line in self._rate.admit(event):
            yield from self._quota.admit(line)

    def end(self) -> Iterator[LogEvent]:
        """Return a notice if lines were dropped since the last one."""
        for notice in self._rate.end():
            yield from self._quota.admit(notice)
