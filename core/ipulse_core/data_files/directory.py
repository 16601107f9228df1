"""Access to users' files in the worker's data directory, and nowhere else."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List, Mapping, Optional, Tuple

from ipulse_core.data_files.errors import DataUnavailable
from ipulse_core.worker_faults import fault_of

VARIABLE = "IPULSE_DATA"
COMPANION = "._"  # begins the names of files in which macOS keeps attributes of others
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class DataDirectory:
    """The worker's data directory; `path` is None if it is not configured."""

    path: Optional[Path]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> DataDirectory:
        """Read the directory from the environment."""
        value = environment.get(VARIABLE)
        return cls(Path(value) if value else None)

    def file(self, *names: str, hint: str) -> Path:
        """Return the regular file at the path of these plain names.

        Raises:
            DataUnavailable: it does not exist; the message contains `hint`.
        """
        path = self._inside(names, hint)
        if not _is(path, stat.S_ISREG):
            raise DataUnavailable(f"there is no file {path} on this worker: {hint}")
        return path

    def folder(self, *names: str, hint: str) -> Path:
        """Return the folder at the path of these plain names, see `file`."""
        path = self._inside(names, hint)
        if not _is(path, stat.S_ISDIR):
            raise DataUnavailable(f"there is no folder {path} on this worker: {hint}")
        return path

    def files(self, *names: str, suffix: str, hint: str) -> List[Path]:
        """Return the regular files with the suffix in a folder, sorted by name, see `file`.

        Companion files of macOS are not among them.
        """
        folder = self.folder(*names, hint=hint)
        with os.scandir(str(folder)) as entries:
            names_found = sorted(
                (entry.name, entry.is_file(follow_symlinks=False))
                for entry in entries
                if entry.name.endswith(suffix) and not entry.name.startswith(COMPANION)
            )
        # Only links need a check of each part of their path.
        return [
            folder / _plain(name) if is_regular else self.file(*names, name, hint=hint)
            for name, is_regular in names_found
        ]

    def has(self, *names: str) -> bool:
        """Return whether the path of these names exists; links are not followed."""
        return self.path is not None and os.path.lexists(str(self.path.joinpath(*names)))

    def _inside(self, names: Tuple[str, ...], hint: str) -> Path:
        if self.path is None:
            raise DataUnavailable(
                f"this worker has no data directory for {'/'.join(names)}: set one with the option "
                f"--data DIR of `ipulse up` or `ipulse demo`, or with {VARIABLE} for an agent; "
                f"{hint}"
            )
        path = self.path.joinpath(*map(_plain, names))
        root, real = os.path.realpath(str(self.path)), os.path.realpath(str(path))
        if not real.startswith(os.path.join(root, "")):
            raise DataUnavailable(
                f"{path} is a link to a place outside the worker's data directory: put the data "
                "themselves into the directory"
            )
        return path


def _plain(name: str) -> str:
    """Check a name: those of specs are valid, others come from files and folders."""
    if not PLAIN_NAME.fullmatch(name):
        raise DataUnavailable(f"{name[:100]!a} is not the plain name of a file")
    return name


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(os.stat(str(path)).st_mode)
    except OSError as error:
        if fault_of(error):  # the file may exist; another worker may be able to read it
            raise
        return False
