"""The Heidelberg spiking data sets, SHD and SSC, from their HDF5 files.

A file has `spikes/times` (per sample a list of seconds), `spikes/units` (of channels) and
`labels`. They are read a chunk of samples at a time.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, List, Union

import numpy as np

from ipulse.spec import SHDData, SSCData

from .binning import Binning, step_of
from .dataset import DataInvalid, Dataset, DataUnavailable, Progress, divided, subset
from .directory import DataDirectory

SAMPLES_AT_ONCE = 256
CURE = (
    "put the data set's HDF5 files there under their own names, unpacked (shd_train.h5, "
    "shd_test.h5; ssc_train.h5, ssc_valid.h5, ssc_test.h5), or name their folder in data.name"
)


def load(data: Union[SHDData, SSCData], directory: DataDirectory, progress: Progress) -> Dataset:
    """The training file's samples, then the held-out file's.

    Raises DataUnavailable where a file is missing, DataInvalid where it is not as it should be.
    """
    held_out = "valid" if isinstance(data, SSCData) and data.judged_on == "validation" else "test"
    paths = [
        directory.file(data.name, f"{data.kind}_{part}.h5", cure=CURE)
        for part in ("train", held_out)
    ]
    binning = Binning(data.steps, data.inputs, data.capacity, data.subset_seed)
    labels = []
    for path in paths:
        with _opened(path) as file:
            labels.append(_read(file, path, data, binning, progress))
    is_test = np.repeat([False, True], [len(part) for part in labels])
    return divided(binning, np.concatenate(labels), is_test)


def _read(
    file: Any, path: Path, data: Union[SHDData, SSCData], binning: Binning, progress: Progress
) -> np.ndarray:
    """Adds the file's samples to the binning; returns their labels."""
    times, units = (_dataset(file, path, f"spikes/{name}") for name in ("times", "units"))
    labels = _dataset(file, path, "labels")
    if not len(times) == len(units) == len(labels) > 0:
        raise DataInvalid(
            f"{path}: {len(times):,} times, {len(units):,} units and {len(labels):,} labels; "
            "there must be equally many, and some"
        )
    labels = labels[:]
    wrong = np.flatnonzero(~np.isin(labels, np.arange(data.classes)))
    if len(wrong):
        raise DataInvalid(
            f"{path}: sample {wrong[0]:,} has the label {labels[wrong[0]]}; {data.kind} has 0 to "
            f"{data.classes - 1}"
        )
    chosen = subset(len(labels), data.samples, data.subset_seed)
    for first in range(0, len(labels), SAMPLES_AT_ONCE):
        wanted = chosen[(chosen >= first) & (chosen < first + SAMPLES_AT_ONCE)]
        if len(wanted):
            rows = slice(first, first + SAMPLES_AT_ONCE)
            _add(
                path,
                data,
                binning,
                wanted,
                times[rows][wanted - first],
                units[rows][wanted - first],
            )
            done = int(np.searchsorted(chosen, first + SAMPLES_AT_ONCE))
            progress(done, len(chosen))
    return np.asarray(labels[chosen], dtype=np.int32)


def _add(
    path: Path,
    data: Union[SHDData, SSCData],
    binning: Binning,
    numbers: np.ndarray,
    times: List[np.ndarray],
    units: List[np.ndarray],
) -> None:
    """Adds the samples of these numbers in the file."""
    for number, seconds, channels in zip(numbers, times, units):
        if len(seconds) != len(channels):
            raise DataInvalid(
                f"{path}: sample {number:,} has {len(seconds):,} times and {len(channels):,} units"
            )
        if len(seconds) and not (np.isfinite(seconds).all() and seconds.min() >= 0):
            raise DataInvalid(f"{path}: sample {number:,} has a time that is no time")
        if len(channels) and not (channels.min() >= 0 and channels.max() < data.inputs):
            raise DataInvalid(
                f"{path}: sample {number:,} has a unit outside of 0 to {data.inputs - 1}"
            )
    lengths = [len(seconds) for seconds in times]
    milliseconds = 1000.0 * np.concatenate(times).astype(np.float64)
    binning.add(
        np.repeat(np.arange(len(numbers)), lengths),
        step_of(milliseconds, data.step_ms),
        np.concatenate(units).astype(np.int64),
        samples=len(numbers),
    )


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The open file. What h5py cannot read becomes DataInvalid."""
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
    except (OSError, RuntimeError) as error:  # h5py's own, of a file that is cut or damaged
        raise DataInvalid(f"{path} cannot be read as HDF5; is it whole? {error}") from error


def _dataset(file: Any, path: Path, name: str) -> Any:
    """A dataset of the file itself: a link into another file is not followed."""
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
    return place
