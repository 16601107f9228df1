"""Checks the list of entries of a zip file from anybody."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Sequence

from ipulse_core.data_files.errors import DataInvalid

_LOCAL_HEADER_BYTES = 30  # of an entry, before its name
_ENCRYPTED = 1


def check_entries(path: Path, listed: Sequence[zipfile.ZipInfo]) -> None:
    """Check that no entry of a zip file is encrypted, there twice, or within another.

    Raises:
        DataInvalid: one is.
    """
    names = set()
    for member in listed:
        if member.filename in names:
            raise DataInvalid(f"{path} holds {member.filename[:60]!a} twice")
        names.add(member.filename)
        if member.flag_bits & _ENCRYPTED:
            raise DataInvalid(f"{path}: {member.filename[:60]!a} is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataInvalid(
                f"{path} is packed in a way that is not read: store or deflate its files; for npz "
                "use numpy.savez or numpy.savez_compressed"
            )
    in_order = sorted(listed, key=lambda member: member.header_offset)
    for member, following in zip(in_order, in_order[1:]):
        end = member.header_offset + _LOCAL_HEADER_BYTES + member.compress_size
        if end > following.header_offset:
            raise DataInvalid(
                f"{path}: {member.filename[:60]!a} and {following.filename[:60]!a} share bytes"
            )
