"""Unpacks zip and tar archives from anybody into a new folder, with the standard library alone."""

from __future__ import annotations

import os
import re
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO, Iterator, NamedTuple, Optional, Tuple

from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.zip_entries import check_entries
from ipulse_core.data_sets import LAYOUTS, kinds_in

MAX_FILES = 300_000  # N-MNIST has 70,000
MAX_BYTES = 2**34  # unpacked
MAX_DEPTH = 8
DATA = "data"  # the folder with the data set, in the folder that an archive is unpacked to

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ +-]{0,127}")
_IGNORED = re.compile(r"\._.*|\.DS_Store|__MACOSX")  # what macOS adds
_COPY_BYTES = 2**20
# Errors for an archive that is incomplete, damaged or encrypted.
_UNREADABLE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    EOFError,
    RuntimeError,
    ValueError,
    NotImplementedError,
    UnicodeError,
)


class _Member(NamedTuple):
    """A regular file of an archive."""

    names: Tuple[str, ...]  # of the folders and the file
    size: int
    content: IO[bytes]


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip or tar archive, whatever its name is."""
    return zipfile.is_zipfile(str(path)) or tarfile.is_tarfile(str(path))


def unpack(path: Path, folder: Path, max_bytes: int = MAX_BYTES) -> str:
    """Unpack an archive into an empty folder, and return the kind of the data set in it.

    The data set is then in the folder `DATA` within it.

    Raises:
        DataInvalid: the archive is damaged, too large, or no folder of a known data set.
        OSError: the files cannot be written.
    """
    unpacked = folder / "unpacked"
    unpacked.mkdir(mode=0o700)
    left = max_bytes
    try:
        for number, member in enumerate(_members(path)):
            if number >= MAX_FILES:
                raise DataInvalid(f"{path} holds more than {MAX_FILES:,} files")
            left -= member.size
            if left < 0:
                raise DataInvalid(
                    f"{path} unpacks to more than {max_bytes:,} bytes, which is the limit"
                )
            _write(path, unpacked, member)
    except (*_UNREADABLE, _ReadError) as error:
        raise DataInvalid(f"{path} cannot be unpacked; is it whole? {error}") from error
    for place in (unpacked, *_only_folder(unpacked)):
        kind = next(kinds_in(place), None)
        if kind is not None:
            os.replace(str(place), str(folder / DATA))
            return kind
    layouts = "; ".join(
        f"{kind}: {' and '.join(names)}" for kind, all_of in LAYOUTS.items() for names in all_of
    )
    raise DataInvalid(f"{path} is not the folder of a known data set ({layouts})")


class _ReadError(Exception):
    """The archive, not the new file, cannot be read."""


def _members(path: Path) -> Iterator[_Member]:
    try:
        if zipfile.is_zipfile(str(path)):
            yield from _in_zip(path)
        else:
            yield from _in_tar(path)
    except OSError as error:
        raise _ReadError(str(error)) from error


def _in_zip(path: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(str(path)) as archive:
        listed = archive.infolist()
        check_entries(path, listed)
        for info in listed:
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.is_dir() or kind == stat.S_IFDIR:
                continue
            names = _names(path, info.filename)
            if names is None:
                continue
            if kind not in (0, stat.S_IFREG):
                raise DataInvalid(f"{path}: {info.filename[:100]!a} is no regular file")
            with archive.open(info) as content:
                yield _Member(names, info.file_size, content)


def _in_tar(path: Path) -> Iterator[_Member]:
    with tarfile.open(str(path), "r|*") as archive:  # a stream: nothing is read twice
        for info in archive:
            if info.isdir():
                continue
            names = _names(path, info.name)
            if names is None:
                continue
            if not info.isreg() or info.issparse():
                raise DataInvalid(f"{path}: {info.name[:100]!a} is no regular file")
            content = archive.extractfile(info)
            if content is None:
                raise DataInvalid(f"{path}: {info.name[:100]!a} has no content")
            yield _Member(names, info.size, content)


def _names(path: Path, name: str) -> Optional[Tuple[str, ...]]:
    """Return the plain names in the path of a member; None if it is to be ignored."""
    names = tuple(part for part in name.split("/") if part not in ("", "."))
    if any(_IGNORED.fullmatch(part) for part in names):
        return None
    if name.startswith("/") or len(names) > MAX_DEPTH or not all(map(_PLAIN.fullmatch, names)):
        raise DataInvalid(f"{path}: {name[:100]!a} is not the plain path of a file")
    return names


def _write(path: Path, folder: Path, member: _Member) -> None:
    """Write a member, which may be neither longer nor shorter than the archive says."""
    target = folder.joinpath(*member.names)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = target.open("xb")
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise DataInvalid(f"{path} holds {'/'.join(member.names)[:100]!a} twice") from error
    with file:
        left = member.size
        while left > 0:
            try:
                chunk = member.content.read(min(left, _COPY_BYTES))
            except OSError as error:
                raise _ReadError(str(error)) from error
            if not chunk:
                raise DataInvalid(f"{path}: {'/'.join(member.names)[:100]!a} is cut short")
            file.write(chunk)
            left -= len(chunk)


def _only_folder(folder: Path) -> Iterator[Path]:
    """Yield the folder in a folder that contains nothing else."""
    entries = list(folder.iterdir())
    if len(entries) == 1 and entries[0].is_dir():
        yield entries[0]
