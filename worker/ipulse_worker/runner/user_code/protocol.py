"""Messages between the runner and a process in a sandbox, in both directions.

A message is one line of JSON with a `kind`, and `bytes` bytes that follow the line where it has
that field. A request to an op is followed by its arrays, and the answer by the results; a file
follows the message that names it. The runner mistrusts all of it: code of users runs in the process
that writes it.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Sequence, Tuple, Union

from ipulse_core import strict_json
from ipulse_worker.runner.user_code.budget import MAX_LINE_BYTES

_CHUNK_BYTES = 2**16
Data = Union[bytes, memoryview]


class BadMessage(Exception):
    """The other side has sent something that is no message, or not the one that was due."""


class Message(NamedTuple):
    """The line of a message; `size` bytes follow, which must be read before the next one."""

    kind: str
    fields: Dict[str, Any]
    size: int


def encoded(kind: str, fields: Mapping[str, Any], size: int = 0) -> bytes:
    """Return the line of a message that `size` bytes follow."""
    more = {"bytes": size} if size else {}
    return (strict_json.dumps({"kind": kind, **fields, **more}) + "\n").encode()


class Incoming:
    """Reads messages."""

    def __init__(self, receive: Callable[[memoryview], int]) -> None:
        """Take a function that fills some of a buffer and returns how many bytes, at least one."""
        self._receive = receive
        self._buffer = bytearray()  # what arrived behind the last line
        self._chunk = memoryview(bytearray(_CHUNK_BYTES))

    def message(self) -> Message:
        """Return the next message. Raises BadMessage, and what the function raises."""
        seen = 0
        while True:
            end = self._buffer.find(b"\n", seen)
            seen = len(self._buffer) if end < 0 else end
            if seen > MAX_LINE_BYTES:
                raise BadMessage(f"a message has more than {MAX_LINE_BYTES:,} bytes")
            if end >= 0:
                break
            count = self._receive(self._chunk)
            self._buffer += self._chunk[:count]
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return _parsed(line)

    def fill(self, view: memoryview) -> None:
        """Fill a buffer with bytes that follow a message. Raises what the function raises."""
        taken = min(len(view), len(self._buffer))
        view[:taken] = self._buffer[:taken]
        del self._buffer[:taken]
        left = view[taken:]
        while left:
            left = left[self._receive(left) :]

    def read(self, size: int) -> bytearray:
        """Return bytes that follow a message."""
        data = bytearray(size)
        self.fill(memoryview(data))
        return data

    def chunks(self, size: int) -> Iterator[Data]:
        """Yield bytes that follow a message, some at a time, as soon as they are there."""
        while size:
            if self._buffer:
                data: Data = bytes(self._buffer[:size])
                del self._buffer[: len(data)]
            else:
                data = self._chunk[: self._receive(self._chunk[: min(size, _CHUNK_BYTES)])]
            size -= len(data)
            yield data


class Outgoing:
    """Writes messages to a descriptor, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, kind: str, fields: Mapping[str, Any], parts: Sequence[Data] = ()) -> None:
        """Send a message with the bytes that follow it."""
        size = sum(memoryview(part).nbytes for part in parts)
        with self._lock:
            self._write(encoded(kind, fields, size))
            for part in parts:
                self._write(part)

    def send_file(self, name: str, path: str) -> None:
        """Send a file. Raises OSError, also if it becomes shorter meanwhile."""
        with open(path, "rb") as file, self._lock:
            size = os.fstat(file.fileno()).st_size
            self._write(encoded("file", {"path": name}, size))
            while size:
                chunk = file.read(min(size, 2**20))
                if not chunk:
                    raise OSError(f"{name} became shorter while it was sent")
                self._write(chunk)
                size -= len(chunk)

    def _write(self, data: Data) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._descriptor, left) :]


def ends_of(reads: int, writes: int) -> Tuple[Incoming, Outgoing]:
    """Return the ends in the sandbox. Reading raises EOFError when the runner closes its end."""

    def receive(view: memoryview) -> int:
        count = os.readv(reads, [view])
        if not count:
            raise EOFError
        return count

    return Incoming(receive), Outgoing(writes)


def _parsed(line: bytes) -> Message:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise BadMessage("a message is no JSON") from None
    if not isinstance(fields, dict):
        raise BadMessage("a message is no object")
    kind, size = fields.pop("kind", None), fields.pop("bytes", 0)
    if not isinstance(kind, str):
        raise BadMessage("a message has no kind")
    if type(size) is not int or size < 0:
        raise BadMessage("a message has a size that is no number of bytes")
    return Message(kind, fields, size)
