"""HDF5 files with one list of spikes per sample, as the Heidelberg data sets have them.

A file has `spikes/times` (per sample a list of seconds), `spikes/units` (of channels) and `labels`.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from ipulse_data.errors import DataInvalid, DataUnavailable

MAX_SAMPLES = 10_000_000  # of a file; data.samples allows as many
MAX_CHUNK_BYTES = 2**26  # that HDF5 unpacks at once


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a file; raise DataInvalid if h5py cannot read it."""
    try:
        import h5py
    except ImportError as error:
        raise DataUnavailable(
            f"HDF5 files are read with h5py, which does not load here ({error}): install the "
            "worker's requirements, or `pip install h5py`, into the runner's environment"
        ) from error
    try:
        with h5py.File(str(path), "r") as file:
            yield file
    # h5py's errors for an incomplete or damaged file
    except (OSError, RuntimeError, KeyError) as error:
        raise DataInvalid(f"{path} cannot be read as HDF5; is it whole? {error}") from error


def dataset_in(file: Any, path: Path, name: str) -> Any:
    """Return a dataset of the file itself; links to other files are not followed."""
    import h5py

    place: Any = file
    for part in name.split("/"):
        link = place.get(part, getlink=True) if isinstance(place, h5py.Group) else None
        place = place[part] if isinstance(link, h5py.HardLink) else None
    if not isinstance(place, h5py.Dataset) or place.is_virtual or place.external:
        raise DataInvalid(f"{path} has no dataset {name} of its own")
    kinds = "iu" if name != "spikes/times" else "f"
    inner = h5py.check_vlen_dtype(place.dtype)
    wanted = "one list per sample" if name != "labels" else "one number per sample"
    of_numbers = (inner or place.dtype).kind in kinds
    if place.ndim != 1 or not of_numbers or (inner is None) != (name == "labels"):
        kind = "integers" if kinds == "iu" else "floats"
        raise DataInvalid(f"{path}: {name} must be {wanted}, of {kind}")
    chunk_bytes = math.prod(place.chunks or (0,)) * place.dtype.itemsize
    if chunk_bytes > MAX_CHUNK_BYTES:
        raise DataInvalid(
            f"{path}: {name} has chunks of {chunk_bytes:,} bytes; at most {MAX_CHUNK_BYTES:,} are "
            "read. Is the file damaged?"
        )
    return place
