"""N-MNIST from its folders: one .bin file per sample, five bytes per event."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, List, Tuple

import numpy as np

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.event_cameras.n_mnist_files import events, listed
from ipulse_core.data_sets import LAYOUTS
from ipulse_worker.runner.data.binning import binning_of
from ipulse_worker.runner.data.dataset import (
    Dataset,
    LoadProgress,
    divided,
    subset,
)
from ipulse_worker.runner.data.uploaded import file_name

if TYPE_CHECKING:
    from ipulse.spec import NMNISTData

FILES_AT_ONCE = 256


def load(data: NMNISTData, directory: DataDirectory, progress: LoadProgress) -> Dataset:
    """The samples of Train, then those of Test, each by class and then by the file's name.

    Raises DataUnavailable where something is missing, DataInvalid where a file is damaged.
    """
    parts = [_listed(data, directory, part) for part in LAYOUTS["n_mnist"][0]]
    binning = binning_of(data, data.subset_seed)
    files = [entry for part in parts for entry in part]
    for first in range(0, len(files), FILES_AT_ONCE):
        chunk = [events(path) for path, _ in files[first : first + FILES_AT_ONCE]]
        time_us = np.concatenate([times for times, _ in chunk])
        binning.add(
            np.repeat(np.arange(len(chunk)), [len(times) for times, _ in chunk]),
            binning.step_of(time_us, file_name(data), per_ms=1000.0),
            np.concatenate([channels for _, channels in chunk]),
            samples=len(chunk),
        )
        progress(binning.samples, len(files))
    is_test = np.repeat([False, True], [len(part) for part in parts])
    return divided(binning, np.array([label for _, label in files]), is_test)


def _listed(data: NMNISTData, directory: DataDirectory, part: str) -> List[Tuple[Path, int]]:
    """Return the files of one part that are used, with their labels."""
    files = listed(directory, file_name(data), part)
    return [files[at] for at in subset(len(files), data.samples, data.subset_seed)]
