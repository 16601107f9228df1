"""The log file of a program that we start: bounded, private, and quotable in an error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

MAX_BYTES = 16 * 2**20  # a longer log makes room when the program starts again; one is kept back
TAIL_LINES = 20
TAIL_BYTES = 16_384


class ProgramLog:
    """Appends to `path`; `tail` quotes only what was written since the last `open`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begin = 0

    def open(self) -> IO[bytes]:
        """For the program's output."""
        if self.path.exists() and self.path.stat().st_size > MAX_BYTES:
            self.path.replace(self.path.with_suffix(self.path.suffix + ".1"))
        descriptor = os.open(str(self.path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._begin = os.fstat(descriptor).st_size
        return os.fdopen(descriptor, "ab")

    def tail(self) -> str:
        """The last lines, indented; says so where there are none."""
        with self.path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._begin, size - TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()[-TAIL_LINES:]
        if not lines:
            return f"  (nothing in its log {self.path})"
        return "\n".join(f"  {line}" for line in lines)
