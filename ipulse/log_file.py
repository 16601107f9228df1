"""Keeps the log file behind standard error small while the program runs."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path

MAX_BYTES = 16 * 2**20  # of a log; a longer one is moved aside, and replaces the one moved before
VARIABLE = "IPULSE_LOG_FILE"  # names the file to which standard error leads


def older(path: Path) -> Path:
    """Return the path to which a long log is moved."""
    return path.with_name(path.name + ".1")


class LogFileHandler(logging.StreamHandler):  # type: ignore[type-arg]  # generic in stubs only
    """Writes to standard error, and begins a new file when the one behind it is long.

    Output that does not come from `logging`, such as that of libraries, goes to the same files.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(sys.stderr)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record."""
        super().emit(record)
        with suppress(OSError):  # on a full disk, say: the log stays in its file
            if os.fstat(sys.stderr.fileno()).st_size > MAX_BYTES:
                self._begin_new_file()

    def _begin_new_file(self) -> None:
        descriptor = sys.stderr.fileno()
        shares_output = os.path.sameopenfile(1, descriptor)
        # Another program may have moved the file already.
        if self._path.exists() and os.path.samestat(self._path.stat(), os.fstat(descriptor)):
            self._path.replace(older(self._path))
        new = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(new, descriptor)
        if shares_output:
            os.dup2(new, 1)
        os.close(new)
