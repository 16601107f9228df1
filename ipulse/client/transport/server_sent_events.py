"""A decoder of server-sent events (HTML standard), for chunks of any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_LINE = 16 * 2**20  # bytes; a longer line is an error


@dataclass(frozen=True)
class ServerSentEvent:
    """One event; `id` is the last id in the stream so far."""

    kind: str
    data: str
    id: str


class Decoder:
    """Decodes chunks of a stream to events.

    Lines end only with CR, LF or both: a text may contain U+2028, at which str.splitlines would
    split. Lines are limited in length.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._skip_line_feed = False
        self._kind = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that this chunk completes. Raises ValueError for a line too long."""
        for line in self._lines(chunk):
            if line:
                self._take(line)
            elif self._data:
                yield self._dispatch()
            else:
                self._kind = ""

    def _lines(self, chunk: bytes) -> Iterator[str]:
        for byte in chunk.splitlines(keepends=True):  # of bytes: splits at CR and LF only
            line = byte
            if self._skip_line_feed and line.startswith(b"\n"):
                line = line[1:]
            self._skip_line_feed = False
            self._buffer += line
            if len(self._buffer) > LONGEST_LINE:
                raise ValueError("a line of the event stream is too long")
            if line.endswith((b"\r", b"\n")):
                # A chunk may end between CR and LF.
                self._skip_line_feed = line.endswith(b"\r")
                yield self._buffer.rstrip(b"\r\n").decode("utf-8", errors="replace")
                self._buffer.clear()

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value

    def _dispatch(self) -> ServerSentEvent:
        event = ServerSentEvent(self._kind or "message", "\n".join(self._data), self._id)
        self._kind, self._data = "", []
        return event
