"""Events and files of a training in a sandbox: each file comes before the event that names it."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Dict, Iterable, NamedTuple

from ipulse_core.events import FILE_NAME, ArtifactEvent, CheckpointEvent, Event
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.user_code.budget import MAX_FILES
from ipulse_worker.runner.user_code.protocol import BadMessage, Data, Message, Outgoing

_FILE = re.compile(FILE_NAME)


class SentEvents(EventWriter):
    """Sends events, and in front of those that name a file its content."""

    def __init__(self, outgoing: Outgoing, directory: Path) -> None:
        """Take the folder with the files."""
        self._outgoing = outgoing
        self._directory = directory
        self._sending = threading.Lock()

    def write(self, event: Event) -> None:
        """Send an event from any thread."""
        with self._sending:
            if isinstance(event, (ArtifactEvent, CheckpointEvent)):
                self._outgoing.send_file(event.path, str(self._directory / event.path))
            fields = event.to_json()
            self._outgoing.send(str(fields.pop("kind")), fields)


class ReceivedFile(NamedTuple):
    """A file that arrived as a whole."""

    name: str


class ReceivedFiles:
    """Writes files to a folder as they arrive."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        """Take the folder; max_bytes: of all its received files together."""
        self._directory = directory
        self._max_bytes = max_bytes
        self._sizes: Dict[str, int] = {}

    def store(self, message: Message, chunks: Iterable[Data]) -> ReceivedFile:
        """Write a file, which is complete when it gets its name. Raises BadMessage and OSError."""
        name = message.fields.get("path")
        if not isinstance(name, str) or not _FILE.fullmatch(name):
            raise BadMessage("a file has a name that no file of a job has")
        if (self._directory / name).is_dir():
            raise BadMessage(f"a file has the name of the worker's folder {name}")
        self._sizes[name] = message.size
        if len(self._sizes) > MAX_FILES:
            raise BadMessage(f"more than {MAX_FILES} files")
        if sum(self._sizes.values()) > self._max_bytes:
            raise BadMessage(f"the files have more than {self._max_bytes:,} bytes together")
        unfinished = self._directory / f".{name}.unfinished"
        with unfinished.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
        os.replace(str(unfinished), str(self._directory / name))
        return ReceivedFile(name)
