"""Messages of a confined training: events as lines of JSON, each after the files that it names.

All of it is to be mistrusted: code of users runs in the process that writes it.
"""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, NamedTuple, Optional, Union

from ipulse_core import strict_json
from ipulse_core.events import FILE_NAME, ArtifactEvent, CheckpointEvent, Event
from ipulse_worker.runner.event_writer import EventWriter

MAX_EVENT_BYTES = 2**20
MAX_FILES = 300
_CHUNK = 2**20
_FILE = re.compile(FILE_NAME)


class BadMessage(Exception):
    """The training has sent something that no runner sends."""


class FileSendingWriter(EventWriter):
    """Writes events, and in front of those that name a file its content."""

    def __init__(self, descriptor: int, directory: Path) -> None:
        super().__init__(descriptor)
        self._directory = directory
        self._sending = threading.Lock()

    def write(self, event: Event) -> None:
        """Write an event from any thread."""
        with self._sending:
            if isinstance(event, (ArtifactEvent, CheckpointEvent)):
                self._send(event.path)
            super().write(event)

    def _send(self, name: str) -> None:
        with (self._directory / name).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header = {"kind": "file", "path": name, "size": size}
            self._write_all((strict_json.dumps(header) + "\n").encode())
            while size:
                chunk = file.read(min(_CHUNK, size))
                if not chunk:
                    raise OSError(f"{name} became shorter while it was sent")
                self._write_all(chunk)
                size -= len(chunk)

    def _write_all(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]


class ReceivedFile(NamedTuple):
    """A file that arrived as a whole."""

    name: str


class MessageReader:
    """Parses messages as they arrive, and writes files to a directory."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        """Take the directory; max_bytes: of all its received files together."""
        self._directory = directory
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._sizes: Dict[str, int] = {}
        self._name = ""
        self._left: Optional[int] = None  # bytes of the file that arrives

    def feed(self, data: bytes) -> Iterator[Union[Dict[str, Any], ReceivedFile]]:
        """Yield events and files that are complete. Raises BadMessage, OSError."""
        self._buffer += data
        while True:
            if self._left is not None:
                self._left = self._store(self._left)
                if self._left:
                    return
                self._left = None
                os.replace(self._unfinished, self._directory / self._name)
                yield ReceivedFile(self._name)
                continue
            end = self._buffer.find(b"\n")
            if max(end, len(self._buffer) if end < 0 else 0) > MAX_EVENT_BYTES:
                raise BadMessage(f"a message has more than {MAX_EVENT_BYTES:,} bytes")
            if end < 0:
                return
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            message = self._parse(line)
            if message.get("kind") == "file":
                self._begin(message)
            else:
                yield message

    @staticmethod
    def _parse(line: bytes) -> Dict[str, Any]:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise BadMessage("a message is no JSON") from None
        if not isinstance(message, dict):
            raise BadMessage("a message is no object")
        return message

    def _begin(self, header: Dict[str, Any]) -> None:
        name, size = header.get("path"), header.get("size")
        if not isinstance(name, str) or not _FILE.fullmatch(name):
            raise BadMessage("a file has a name that no file of a job has")
        if type(size) is not int or size < 0:
            raise BadMessage(f"the file {name} has no size")
        if (self._directory / name).is_dir():
            raise BadMessage(f"a file has the name of the worker's folder {name}")
        self._sizes[name] = size
        if len(self._sizes) > MAX_FILES:
            raise BadMessage(f"more than {MAX_FILES} files")
        if sum(self._sizes.values()) > self._max_bytes:
            raise BadMessage(f"the files have more than {self._max_bytes:,} bytes together")
        self._name, self._left = name, size
        self._unfinished.write_bytes(b"")

    def _store(self, left: int) -> int:
        """Write what has arrived of the `left` bytes of the file; return how many are missing."""
        part = bytes(self._buffer[:left])
        del self._buffer[: len(part)]
        with self._unfinished.open("ab") as file:
            file.write(part)
        return left - len(part)

    @property
    def _unfinished(self) -> Path:
        return self._directory / f".{self._name}.unfinished"
