"""Reads npz files from anybody.

Nothing is unpickled, and no array is allocated before its size was found to be possible.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import AbstractSet, Dict, Optional

import numpy as np

from ipulse_data.errors import DataInvalid

MAX_BYTES = 2**32  # of all arrays, unpacked
# zipfile's errors for a file that is incomplete, damaged, encrypted or not a zip file.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


def read(path: Path, known: Optional[AbstractSet[str]] = None) -> Dict[str, np.ndarray]:
    """Read the arrays of a file; `known` are the names that it may have, None for any.

    Raises:
        DataInvalid: the file is damaged, too large, or has an array that is not in `known`.
    """
    try:
        with zipfile.ZipFile(str(path)) as archive:
            members = {member.filename: member for member in archive.infolist()}
            if known is not None:
                _check_names(path, set(members), known)
            packed = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if any(member.compress_type not in packed for member in members.values()):
                raise DataInvalid(
                    f"{path} is packed in a way that NumPy does not pack: write it with "
                    "numpy.savez or numpy.savez_compressed"
                )
            total = sum(member.file_size for member in members.values())
            if total > MAX_BYTES:
                raise DataInvalid(
                    f"{path} unpacks to {total:,} bytes; at most {MAX_BYTES:,} are allowed"
                )
            return {name[:-4]: _array(path, archive, member) for name, member in members.items()}
    except _UNREADABLE as error:
        raise DataInvalid(f"{path} cannot be read as npz; is it whole? {error}") from error


def _check_names(path: Path, members: AbstractSet[str], known: AbstractSet[str]) -> None:
    unknown = sorted(members - {f"{name}.npy" for name in known})
    if unknown:
        raise DataInvalid(
            f"{path} holds {unknown[0][:60]!a}; the arrays are {', '.join(sorted(known))}"
        )


def _array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """Read one member; its header must match its size."""
    try:
        with archive.open(member) as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("only version 1.0 of the npy format is read")
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.kind not in "biuf":
            raise ValueError(f"its type is {dtype}, not booleans, integers or floats")
        wanted = dtype.itemsize * math.prod(int(size) for size in shape)
        if not wanted <= member.file_size <= wanted + 2**16 + 10:
            raise ValueError(
                f"its header says {dtype} {shape}, but it has {member.file_size:,} bytes"
            )
        with archive.open(member) as file:
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise DataInvalid(f"{path}: {member.filename} is no array of numbers: {error}") from error
    return array
