"""Checks that everything in an HDF5 file is in that file itself.

HDF5 can store the bytes of a dataset in any other file that its reader may open, and can link to
objects of other files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, Tuple

from ipulse_core.data_files.errors import DataInvalid

SIGNATURE = b"\x89HDF\r\n\x1a\n"  # the first bytes of a file
MAX_OBJECTS = 10_000
MAX_DEPTH = 8
_FILTERS = {1: "gzip", 2: "shuffle", 3: "fletcher32"}


def check_structure(file: Any, path: Path) -> None:
    """Check all groups and datasets of an open file.

    Raises:
        DataInvalid: one of them is a link or stored elsewhere, or there are too many.
    """
    import h5py

    for number, (name, item) in enumerate(_objects(file, path, "", 0)):
        if number >= MAX_OBJECTS:
            raise DataInvalid(f"{path} has more than {MAX_OBJECTS:,} objects")
        if not isinstance(item, h5py.Dataset):
            continue
        if item.is_virtual or item.external:
            raise DataInvalid(f"{path}: the values of {name} are stored in another file")
        if not has_known_filters(item):
            raise DataInvalid(
                f"{path}: {name} is packed in a way that is not read; use gzip, or nothing"
            )


def has_known_filters(dataset: Any) -> bool:
    """Return whether a dataset is not packed, or with gzip."""
    properties = dataset.id.get_create_plist()
    filters = {properties.get_filter(at)[0] for at in range(properties.get_nfilters())}
    return filters <= set(_FILTERS)


def _objects(group: Any, path: Path, prefix: str, depth: int) -> Iterator[Tuple[str, Any]]:
    import h5py

    if depth > MAX_DEPTH:
        raise DataInvalid(f"{path}: groups are nested deeper than {MAX_DEPTH}")
    for key in group:
        name = f"{prefix}{key}"[:200]
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise DataInvalid(f"{path}: {name!a} is a link; only objects of the file are read")
        item = group[key]
        yield name, item
        if isinstance(item, h5py.Group):
            yield from _objects(item, path, f"{name}/", depth + 1)
