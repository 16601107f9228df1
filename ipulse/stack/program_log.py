"""The log file of a child process: private, limited in size, and quoted in errors."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import IO

from ipulse import log_file

CANNOT_START = "cannot_start"  # the action of the log line in which a program says why
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

    def reason(self) -> str:
        """Return the sentence in which the program said why it cannot start; "" without one."""
        for line in reversed(self._last_lines() or ()):
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict) and said.get("action") == CANNOT_START:
                return str(said.get("error", ""))
        return ""

    def tail(self) -> str:
        """Return the last lines, indented, or a note that there are none."""
        lines = self._last_lines()
        if lines is None:
            return f"  (there is no {self.path})"
        if shutil.disk_usage(self.path.parent).free < FULL_BYTES:
            lines.append(f"(no space is left on the disk of {self.path})")
        if not lines:
            return f"  (its log {self.path} is empty)"
        return "\n".join(f"  {line}" for line in lines)

    def _last_lines(self) -> list[str] | None:
        """Return the last lines since the last `open`, None without a file."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return None
        with file as log:
            size = log.seek(0, os.SEEK_END)
            begin = self._begin if self._begin <= size else 0  # the program began a new file
            log.seek(max(begin, size - TAIL_BYTES))
            return log.read().decode("utf-8", "replace").splitlines()[-TAIL_LINES:]
