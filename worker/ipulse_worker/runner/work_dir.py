"""The attempt's directory, in which files are written atomically.

Nothing is synced to the disk: the directory is deleted after the attempt, and the artifact store
syncs the files that it receives.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from ipulse_core.worker_faults import errors_name


@dataclass(frozen=True)
class WorkDir:
    """The only directory to which an attempt writes."""

    path: Path

    def write(self, name: str, content: bytes) -> Path:
        """Write a whole file and return its path."""
        with self.writing(name) as unfinished:
            unfinished.write_bytes(content)
        return self.path / name

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yield a temporary path; the file gets its `name` when the block ends without an error.

        A reader sees either the old file or the new one.
        """
        unfinished = self.path / f".{name}.unfinished"
        try:
            with errors_name(unfinished):
                yield unfinished
            os.replace(unfinished, self.path / name)
        except BaseException:
            with suppress(OSError):  # a read-only disk; the first error counts
                if unfinished.exists():
                    unfinished.unlink()
            raise
