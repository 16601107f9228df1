"""HDF5 files with one list of spikes per sample, as the Heidelberg data sets have them.

A file has `spikes/times` (per sample a list of seconds), `spikes/units` (of channels) and `labels`.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Tuple

import numpy as np

from ipulse_core.data_files.errors import DataInvalid, LibraryMissing
from ipulse_core.data_files.sample_file import MAX_SAMPLES

MAX_CHUNK_BYTES = 2**26  # that HDF5 unpacks at once
PER_MS = 1e-3  # times are in seconds


class SpikeLists(NamedTuple):
    """The contents of an open file."""

    times: Any  # a list of seconds per sample
    units: Any  # a list of channels per sample
    labels: np.ndarray  # integers [samples]


def lists_in(file: Any, path: Path, classes: int) -> SpikeLists:
    """Return the contents of an open file. Labels must be 0 to classes - 1.

    Raises:
        DataInvalid: the file does not have them.
    """
    times, units = (dataset_in(file, path, f"spikes/{name}") for name in ("times", "units"))
    labels = dataset_in(file, path, "labels")
    if not len(times) == len(units) == len(labels) > 0:
        raise DataInvalid(
            f"{path}: {len(times):,} times, {len(units):,} units and {len(labels):,} labels; "
            "there must be equally many, and some"
        )
    if len(labels) > MAX_SAMPLES:
        raise DataInvalid(
            f"{path} says that it has {len(labels):,} samples; at most {MAX_SAMPLES:,} are read. "
            "Is the file damaged?"
        )
    labels = labels[:]
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(wrong):
        raise DataInvalid(
            f"{path}: sample {wrong[0]:,} has the label {labels[wrong[0]]}; labels must be 0 to "
            f"{classes - 1}"
        )
    return SpikeLists(times, units, labels)


def read_lists(
    path: Path, lists: SpikeLists, rows: slice, chosen: np.ndarray, channels: int
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how many spikes the chosen samples among these rows have, their seconds and channels.

    Args:
        path: the file, for error messages.
        lists: its contents.
        rows: the samples that are read at once.
        chosen: numbers of samples among them, ascending.
        channels: how many there are.

    Raises:
        DataInvalid: a sample cannot be read, or a value is impossible.
    """
    try:
        times, units = (part[rows][chosen - rows.start] for part in (lists.times, lists.units))
    except (MemoryError, ValueError, OSError, RuntimeError) as error:
        raise DataInvalid(
            f"{path}: a sample from {rows.start:,} to {rows.stop - 1:,} cannot be read; "
            f"is it whole? {error}"
        ) from error
    lengths = np.array([len(seconds) for seconds in times])
    of_units = np.array([len(each) for each in units])
    for at in np.flatnonzero(lengths != of_units)[:1]:
        raise DataInvalid(
            f"{path}: sample {chosen[at]:,} has {lengths[at]:,} times and {of_units[at]:,} units"
        )
    seconds = np.concatenate(times)
    channel = np.concatenate(units).astype(np.int64)
    for at in np.flatnonzero(~((seconds >= 0) & (seconds < np.inf)))[:1]:
        sample = chosen[np.searchsorted(np.cumsum(lengths), at, side="right")]
        raise DataInvalid(f"{path}: sample {sample:,} has a time that is no time")
    for at in np.flatnonzero((channel < 0) | (channel >= channels))[:1]:
        sample = chosen[np.searchsorted(np.cumsum(lengths), at, side="right")]
        raise DataInvalid(f"{path}: sample {sample:,} has a unit outside of 0 to {channels - 1}")
    return lengths, seconds, channel


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a file; raise DataInvalid if h5py cannot read it."""
    try:
        import h5py
    except ImportError as error:
        raise LibraryMissing(
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
