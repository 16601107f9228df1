"""Packs the folder of a data set into one file with bytes that depend on the content alone."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ipulse_core.errors import InvalidInput, Problem


@contextmanager
def packed(path: Path) -> Iterator[Path]:
    """Yield a file: the path itself, or a temporary tar archive of the folder.

    Raises:
        InvalidInput: There is no such file or folder, or it holds nothing.
    """
    if path.is_file():
        if not path.stat().st_size:
            raise _refused(path, "is empty")
        yield path
        return
    if not path.is_dir():
        raise _refused(path, "does not exist")
    files = sorted(each for each in path.rglob("*") if each.is_file() and not each.is_symlink())
    if not files:
        raise _refused(path, "holds no files")
    with tempfile.TemporaryDirectory(prefix="ipulse-data-") as folder:
        archive = Path(folder, "data.tar")
        with tarfile.open(archive, "w") as tar:
            for file in files:
                info = tarfile.TarInfo(f"{path.resolve().name}/{file.relative_to(path)}")
                info.size = file.stat().st_size
                info.mode = 0o644
                with file.open("rb") as content:
                    tar.addfile(info, content)  # without owner and time
        yield archive


def name_of(path: Path) -> str:
    """Return the name that a data set gets from its file, such as `mine` from mine.npz."""
    name = os.path.basename(os.path.abspath(path))
    for suffix in (".tar.gz", ".tgz", ".tar", ".zip", ".npz", ".h5", ".hdf5", ".csv"):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def _refused(path: Path, what: str) -> InvalidInput:
    return InvalidInput([Problem("/PATH", "no_file", f"{path} {what}")], "there is nothing to push")
