"""Packs the folder of a data set into one file with bytes that depend on the content alone."""

from __future__ import annotations

import os
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ipulse.optional_modules import optional_module
from ipulse_core.data_sets import NAME_PATTERN
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.input_files import InputFolder, check_file, list_folder


class PackedData(NamedTuple):
    """A file to send."""

    file: Path
    folder: InputFolder | None = None  # that was packed


@contextmanager
def packed(path: Path, follow_outside: bool = False) -> Iterator[PackedData]:
    """Yield a file: the path itself, or a temporary tar archive of the folder.

    Symbolic links are followed; those that leave the folder only with `follow_outside`, or in the
    layout of a Hugging Face cache, of DataLad or of git-annex.

    Raises:
        InvalidInput: There is no such file or folder, it holds nothing, or a part of it is not
            there.
    """
    check_file(path)
    if path.is_file():
        if not path.stat().st_size:
            raise _refused(path, "is empty")
        yield PackedData(path)
        return
    if not path.is_dir():
        raise _refused(path, "is no file and no folder" if path.exists() else "does not exist")
    found = list_folder(path, follow_outside)
    if not found.files:
        raise _refused(path, f"holds no files. {found.skipped_text()}".strip())
    name = path.resolve().name
    top = name if re.match(NAME_PATTERN, name) else "data"  # the service allows plain names
    with tempfile.TemporaryDirectory(prefix="ipulse-data-") as folder:
        archive = Path(folder, "data.tar")
        with tarfile.open(archive, "w") as tar:
            for file in found.files:
                info = tarfile.TarInfo(f"{top}/{file.name}")
                info.size = file.path.stat().st_size
                info.mode = 0o644
                with file.path.open("rb") as content:
                    tar.addfile(info, content)  # without owner and time
        yield PackedData(archive, found)


@contextmanager
def packed_arrays(arrays: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a temporary npz file with these arrays."""
    numpy = optional_module("numpy", "a data set of arrays")
    with tempfile.TemporaryDirectory(prefix="ipulse-") as folder:
        file = Path(folder, "arrays.npz")
        numpy.savez_compressed(file, **arrays)
        yield file


def name_of(path: Path) -> str:
    """Return the name that a data set gets from its file, as the web page does.

    `mine.npz` becomes `mine`, and `my data (v2).csv` `my-data-v2-`: other characters than those of
    names are replaced.
    """
    name = os.path.basename(os.path.abspath(path))
    name = re.sub(r"(\.(npz|h5|hdf5|csv|tsv|txt|zip|tar|gz|tgz))+$", "", name, flags=re.IGNORECASE)
    name = re.sub(r"^[^A-Za-z0-9]+", "", re.sub(r"[^A-Za-z0-9._-]+", "-", name))
    return name[:128] or "data"


def _refused(path: Path, what: str) -> InvalidInput:
    return InvalidInput([Problem("/PATH", "no_file", f"{path} {what}")], "there is nothing to push")
