"""Where users' files lie: one directory of the worker, and nothing outside of it."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Mapping, Optional, Tuple

from ipulse_worker.runner.data.dataset import DataUnavailable

VARIABLE = "IPULSE_DATA"
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class DataDirectory:
    """The worker's data directory; None where its owner has set none."""

    path: Optional[Path]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> DataDirectory:
        value = environment.get(VARIABLE)
        return cls(Path(value) if value else None)

    def file(self, *names: str, cure: str) -> Path:
        """The regular file at these plain names, one below the other.

        Raises DataUnavailable where it is not, with `cure`: what has to be there.
        """
        path = self._inside(names, cure)
        if not _is(path, stat.S_ISREG):
            raise DataUnavailable(f"there is no file {path} on this worker: {cure}")
        return path

    def folder(self, *names: str, cure: str) -> Path:
        """As `file`, a directory."""
        path = self._inside(names, cure)
        if not _is(path, stat.S_ISDIR):
            raise DataUnavailable(f"there is no folder {path} on this worker: {cure}")
        return path

    def files(self, *names: str, suffix: str, cure: str) -> List[Path]:
        """The regular files of that suffix in the folder at these names, by name.

        Raises as `file` does where one of them is none.
        """
        folder = self.folder(*names, cure=cure)
        with os.scandir(str(folder)) as entries:
            found = sorted(
                (entry.name, entry.is_file(follow_symlinks=False))
                for entry in entries
                if entry.name.endswith(suffix)
            )
        # What is no link lies where its folder lies, and needs no look at each part of its path.
        return [
            folder / _plain(name) if is_no_link else self.file(*names, name, cure=cure)
            for name, is_no_link in found
        ]

    def has(self, *names: str) -> bool:
        """Whether there is anything at these names, without leaving the directory."""
        return self.path is not None and os.path.lexists(str(self.path.joinpath(*names)))

    def _inside(self, names: Tuple[str, ...], cure: str) -> Path:
        if self.path is None:
            raise DataUnavailable(
                f"this worker has no data directory, in which {'/'.join(names)} should lie: its "
                f"owner sets one with `ipulse up --data DIR`, or with {VARIABLE} for an agent; "
                f"{cure}"
            )
        path = self.path.joinpath(*map(_plain, names))
        root, real = os.path.realpath(str(self.path)), os.path.realpath(str(path))
        if not real.startswith(os.path.join(root, "")):
            raise DataUnavailable(
                f"{path} is a link that leads out of the worker's data directory: put the data "
                "themselves there"
            )
        return path


def _plain(name: str) -> str:
    """The name. A spec's have this form already; some come from files and folders."""
    if not PLAIN_NAME.fullmatch(name):
        raise DataUnavailable(f"{name[:100]!a} is not the plain name of a file")
    return name


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(os.stat(str(path)).st_mode)
    except OSError:
        return False
