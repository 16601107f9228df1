"""The attempt's directory: a file there is either complete or not there."""

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

        A reader, or the next attempt after a power cut, sees the old file or the new one.
        """
        unfinished = self.path / f".{name}.unfinished"
        try:
            yield unfinished
            _sync(unfinished)
            os.replace(unfinished, self.path / name)
        except BaseException:
            if unfinished.exists():
                unfinished.unlink()
            raise
        _sync(self.path)  # the rename itself is an entry of the directory


def _sync(path: Path) -> None:
    descriptor = os.open(str(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
