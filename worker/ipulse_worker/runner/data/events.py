"""A user's events, in HDF5 with one list per sample or in CSV with one row per event."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ipulse_core.data_files.csv.samples import opened_csv_samples
from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.hdf5_samples import opened_hdf5_samples
from ipulse_core.data_files.sample_file import SampleFile
from ipulse_worker.runner.data.binning import binning_of
from ipulse_worker.runner.data.dataset import DataInvalid, Dataset, LoadProgress, divided, hold_out
from ipulse_worker.runner.data.uploaded import file_name

if TYPE_CHECKING:
    from ipulse.spec import EventsData

SAMPLES_AT_ONCE = 256
HINT = "upload the data set with `ipulse data push`"


def load(data: EventsData, directory: DataDirectory, progress: LoadProgress) -> Dataset:
    """The samples in the order of the file.

    Raises DataUnavailable where there is no file, DataInvalid where it is not as described, and
    whatever `progress` raises.
    """
    name = file_name(data)
    if directory.has(f"{name}.csv"):
        path = directory.file(f"{name}.csv", hint=HINT)
        with opened_csv_samples(path) as file:
            return _read(file, path, data, progress)
    path = directory.file(f"{name}.h5", hint=HINT)
    with opened_hdf5_samples(path) as file:
        return _read(file, path, data, progress)


def _read(file: SampleFile, path: Path, data: EventsData, progress: LoadProgress) -> Dataset:
    wrong = np.flatnonzero(file.labels >= data.classes)
    if len(wrong):
        raise DataInvalid(
            f"{path}: sample {wrong[0]:,} has the label {file.labels[wrong[0]]}; data.classes "
            f"allows 0 to {data.classes - 1}"
        )
    binning = binning_of(data, data.split_seed)
    samples = len(file.labels)
    # Blocks of HDF5 are of samples in order, and CSV is one block in any order.
    for block in file.blocks:
        per_ms = 1.0 if file.per_ms is None else file.per_ms
        step = binning.step_of(block.time, path, per_ms=per_ms, is_measured=True)
        wrong = np.flatnonzero(block.channel >= data.channels)
        if len(wrong):
            raise DataInvalid(
                f"{path}: sample {block.sample[wrong[0]]:,} has an event in channel "
                f"{block.channel[wrong[0]]}; data.channels allows 0 to {data.channels - 1}"
            )
        order = np.argsort(block.sample, kind="stable")
        sample, step, channel = block.sample[order], step[order], block.channel[order]
        end = int(sample[-1]) + 1 if len(sample) else 0
        while binning.samples < end:
            first = binning.samples
            last = min(end, first + SAMPLES_AT_ONCE)
            begin, stop = np.searchsorted(sample, [first, last])
            part = slice(begin, stop)
            binning.add(sample[part] - first, step[part], channel[part], samples=last - first)
            progress(binning.samples, samples)
    none = np.zeros(0, np.int64)
    if binning.samples < samples:  # those at the end have no event
        binning.add(none, none, none, samples=samples - binning.samples)
    test = file.test
    if test is None:
        test = hold_out(file.labels, data.test_fraction, data.split_seed)
    return divided(binning, file.labels, test)
