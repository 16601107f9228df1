"""The attempt's directory: a file there is either complete or not there.

Nothing is synced to the disk here: the directory goes with its attempt, and what must outlast a
power cut is the artifact store's, which syncs what it is given.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator


@dataclass(frozen=True)
class WorkDir:
    """Where an attempt writes, and the only place where it does."""

    path: Path

    def write(self, name: str, content: bytes) -> Path:
        """Puts a whole file in place and returns its path."""
        with self.writing(name) as unfinished:
            unfinished.write_bytes(content)
        return self.path / name

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """A path to write to; the file takes its `name` when the block ends without an error.

        A reader sees the old file or the new one.
        """
        unfinished = self.path / f".{name}.unfinished"
        try:
            yield unfinished
            os.replace(unfinished, self.path / name)
        except BaseException:
            if unfinished.exists():
                unfinished.unlink()
            raise
