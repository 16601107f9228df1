"""Reads npz files from anybody.

Nothing is unpickled, and no array is allocated before its size was found to be possible.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, AbstractSet, Dict, Iterator, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.zip_entries import check_entries

MAX_BYTES = 2**32  # of all arrays, unpacked
# zipfile's errors for a file that is incomplete, damaged, encrypted or not a zip file.
_MAX_HEADER_BYTES = 2**16
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


class UnknownArrays(DataInvalid):
    """The file has arrays that its reader does not know."""


class NpyHeader(NamedTuple):
    """The header of an array; it was found to match the size of the member."""

    shape: Tuple[int, ...]
    dtype: np.dtype
    is_fortran: bool


class NpzFile:
    """An open npz file."""

    def __init__(
        self, path: Path, archive: zipfile.ZipFile, members: Dict[str, zipfile.ZipInfo]
    ) -> None:
        self.path = path
        self._archive = archive
        self._members = members
        self.headers = {name: _header(path, archive, member) for name, member in members.items()}

    def array(self, name: str) -> np.ndarray:
        """Read an array.

        Raises:
            DataInvalid: it is damaged.
        """
        with _translated(self.path, name), self._archive.open(self._members[name]) as file:
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
        return array

    def rows(self, name: str, at_once: int) -> Iterator[np.ndarray]:
        """Yield an array in pieces of so many rows, without ever holding all of it.

        Raises:
            DataInvalid: it is damaged.
        """
        header = self.headers[name]
        if header.is_fortran:
            whole = self.array(name)
            for first in range(0, len(whole), at_once):
                yield whole[first : first + at_once]
            return
        row_bytes = header.dtype.itemsize * math.prod(header.shape[1:])
        with _translated(self.path, name), self._archive.open(self._members[name]) as file:
            _read_header(file)
            for first in range(0, header.shape[0], at_once):
                rows = min(at_once, header.shape[0] - first)
                content = file.read(rows * row_bytes)
                if len(content) != rows * row_bytes:
                    raise ValueError(f"it ends in row {first + len(content) // row_bytes:,}")
                yield np.frombuffer(content, header.dtype).reshape(rows, *header.shape[1:])
            if file.read(1):  # reads to the end, where zipfile compares the checksum
                raise ValueError("bytes follow the array")


@contextmanager
def opened_npz(path: Path, known: Optional[AbstractSet[str]]) -> Iterator[NpzFile]:
    """Open a file; `known` are the names that it may have, None for any.

    Raises:
        UnknownArrays: it has an array that is not in `known`.
        DataInvalid: the file is damaged or too large.
    """
    try:
        with zipfile.ZipFile(str(path)) as archive:
            listed = archive.infolist()
            _check_members(path, listed, known)
            yield NpzFile(path, archive, {member.filename[:-4]: member for member in listed})
    except _UNREADABLE as error:
        raise DataInvalid(f"{path} cannot be read as npz; is it whole? {error}") from error


def read(path: Path, known: Optional[AbstractSet[str]] = None) -> Dict[str, np.ndarray]:
    """Read the arrays of a file; `known` are the names that it may have, None for any.

    Raises:
        DataInvalid: the file is damaged, too large, or has an array that is not in `known`.
    """
    with opened_npz(path, known) as file:
        return {name: file.array(name) for name in file.headers}


def _check_members(
    path: Path, listed: Sequence[zipfile.ZipInfo], known: Optional[AbstractSet[str]]
) -> None:
    for member in listed:
        if known is not None and member.filename not in {f"{name}.npy" for name in known}:
            raise UnknownArrays(
                f"{path} holds {member.filename[:60]!a}; the arrays are {', '.join(sorted(known))}"
            )
    check_entries(path, listed)
    total = sum(member.file_size for member in listed)
    if total > MAX_BYTES:
        raise DataInvalid(f"{path} unpacks to {total:,} bytes; at most {MAX_BYTES:,} are allowed")


def _header(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NpyHeader:
    """Read the header of a member, which must match its size."""
    with _translated(path, member.filename[:-4]):
        with archive.open(member) as file:
            shape, is_fortran, dtype = _read_header(file)
        if dtype.kind not in "biuf":
            raise ValueError(f"its type is {dtype}, not booleans, integers or floats")
        wanted = dtype.itemsize * math.prod(int(size) for size in shape)
        if not wanted <= member.file_size <= wanted + _MAX_HEADER_BYTES + 12:
            raise ValueError(
                f"its header says {dtype} {shape}, but it has {member.file_size:,} bytes"
            )
    return NpyHeader(shape, dtype, is_fortran)


def _read_header(file: IO[bytes]) -> Tuple[Tuple[int, ...], bool, np.dtype]:
    """Read the header of an array, in version 1.0, 2.0 or 3.0 of the npy format.

    Versions 2.0 and 3.0 differ in the names of fields, which no array of numbers has.
    """
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        found: Tuple[Tuple[int, ...], bool, np.dtype] = np.lib.format.read_array_header_1_0(file)
        return found
    if version not in ((2, 0), (3, 0)):
        raise ValueError("only versions 1.0, 2.0 and 3.0 of the npy format are read")
    length = file.read(4)
    if int.from_bytes(length, "little") > _MAX_HEADER_BYTES:
        raise ValueError(f"its header has more than {_MAX_HEADER_BYTES:,} bytes")
    header = io.BytesIO(length + file.read(int.from_bytes(length, "little")))
    found = np.lib.format.read_array_header_2_0(header)
    return found


@contextmanager
def _translated(path: Path, name: str) -> Iterator[None]:
    """Raise DataInvalid in place of NumPy's and zipfile's errors for a damaged array."""
    try:
        yield
    except (*_UNREADABLE, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise DataInvalid(f"{path}: {name}.npy is no array of numbers: {error}") from error
