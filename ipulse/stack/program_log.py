"""The log file of a child process: private, limited in size, and quoted in errors."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import IO

from ipulse import log_file

TAIL_LINES = 20
TAIL_BYTES = 16_384
FULL_BYTES = 65_536  # a disk with less is full: the end of a log may be missing


class ProgramLog:
    """A log at `path`; `tail` returns only lines written since the last `open`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begin = 0

    def open(self) -> IO[bytes]:
        """Open the log for appending the program's output."""
        if self.path.exists() and self.path.stat().st_size > log_file.MAX_BYTES:
            self.path.replace(log_file.older(self.path))
        descriptor = os.open(str(self.path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._begin = os.fstat(descriptor).st_size
        return os.fdopen(descriptor, "ab")

    def tail(self) -> str:
        """Return the last lines, indented, or a note that there are none."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return f"  (there is no {self.path})"
        with file as log:
            size = log.seek(0, os.SEEK_END)
            begin = self._begin if self._begin <= size else 0  # the program began a new file
            log.seek(max(begin, size - TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()[-TAIL_LINES:]
        if shutil.disk_usage(self.path.parent).free < FULL_BYTES:
            lines.append(f"(no space is left on the disk of {self.path})")
        if not lines:
            return f"  (its log {self.path} is empty)"
        return "\n".join(f"  {line}" for line in lines)
