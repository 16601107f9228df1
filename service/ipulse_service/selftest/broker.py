"""Reads and writes the raw messages of a queue in Redis."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import IO, Union

Answer = Union[bytes, int, None, list["Answer"]]  # noqa: UP007 (refers to itself)


class Broker:
    """Uses a connection for each command. Raises OSError if no server answers."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def messages(self, queue: str) -> list[bytes]:
        """Returns the raw messages of a queue."""
        found = self._ask(b"LRANGE", queue.encode(), b"0", b"-1")
        return [one for one in found if isinstance(one, bytes)] if isinstance(found, list) else []

    def push(self, queue: str, messages: list[bytes]) -> None:
        """Adds raw messages to a queue."""
        if messages:
            self._ask(b"LPUSH", queue.encode(), *messages)

    def replace(self, queue: str, messages: list[bytes]) -> None:
        """Replaces all messages of a queue."""
        self._ask(b"DEL", queue.encode())
        self.push(queue, messages)

    def hang_up(self) -> None:
        """Closes all other connections."""
        self._ask(b"CLIENT", b"KILL", b"SKIPME", b"yes")

    def _ask(self, *words: bytes) -> Answer:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5.0)
            connection.connect(str(self._path))
            parts = [b"*%d\r\n" % len(words)]
            parts += [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]
            connection.sendall(b"".join(parts))
            with connection.makefile("rb") as answer:
                return _read(answer)


def _read(answer: IO[bytes]) -> Answer:
    line = answer.readline()
    kind, rest = line[:1], line[1:].strip()
    if kind == b"$":
        return None if rest == b"-1" else answer.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return [_read(answer) for _ in range(int(rest))]
    if kind == b":":
        return int(rest)
    if kind == b"+":
        return rest
    raise OSError(f"Redis answered {line!r}")
