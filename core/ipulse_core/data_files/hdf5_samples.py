"""Samples in one HDF5 file in the format of the Heidelberg data sets; `test` is an addition."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Optional

import h5py
import numpy as np

from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.hdf5_structure import check_structure
from ipulse_core.data_files.sample_file import MAX_CLASSES, EventBlock, SampleFile
from ipulse_core.data_files.spike_lists import PER_MS, SpikeLists, lists_in, opened, read_lists
from ipulse_core.limits import MAX_CHANNELS

SAMPLES_AT_ONCE = 256


@contextmanager
def opened_hdf5_samples(path: Path) -> Iterator[SampleFile]:
    """Open a file with `spikes/times`, `spikes/units`, `labels` and, if it has one, `test`.

    Raises:
        DataInvalid: it is damaged or has another format.
    """
    with opened(path) as file:
        check_structure(file, path)
        lists = lists_in(file, path, MAX_CLASSES)
        labels = lists.labels.astype(np.int64)
        yield SampleFile(
            kind="events",
            form="events",
            labels=labels,
            test=_test(file, path, len(labels)),
            blocks=list_blocks(path, lists, MAX_CHANNELS),
            values=iter(()),
            per_ms=PER_MS,
        )


def list_blocks(
    path: Path, lists: SpikeLists, channels: int, begin: int = 0
) -> Iterator[EventBlock]:
    """Yield the events of a file; its first sample has the number `begin`."""
    samples = len(lists.labels)
    for first in range(0, samples, SAMPLES_AT_ONCE):
        rows = slice(first, min(samples, first + SAMPLES_AT_ONCE))
        numbers = np.arange(rows.start, rows.stop)
        lengths, seconds, channel = read_lists(path, lists, rows, numbers, channels)
        yield EventBlock(begin + np.repeat(numbers, lengths), seconds, channel)


def _test(file: Any, path: Path, samples: int) -> Optional[np.ndarray]:
    if "test" not in file:
        return None
    test = file["test"]
    is_list = isinstance(test, h5py.Dataset) and test.shape == (samples,)
    if not is_list or test.dtype.kind not in "biu":
        raise DataInvalid(f"{path}: test must be a list of booleans, one per label")
    numbers = test[:]
    if not np.isin(numbers, (0, 1)).all() or numbers.all() or not numbers.any():
        raise DataInvalid(f"{path}: test must be 0 or 1, some of them 1 and some not")
    booleans: np.ndarray = numbers.astype(bool)
    return booleans
