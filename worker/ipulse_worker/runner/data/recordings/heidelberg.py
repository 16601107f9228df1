"""The Heidelberg spiking data sets, SHD and SSC, from their HDF5 files.

A file has `spikes/times` (per sample a list of seconds), `spikes/units` (of channels) and
`labels`. They are read a chunk of samples at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from ipulse_core.derived_values import class_count, input_channels
from ipulse_data.directory import DataDirectory
from ipulse_data.spike_lists import MAX_SAMPLES, dataset_in, opened
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.dataset import (
    DataInvalid,
    Dataset,
    LoadProgress,
    divided,
    subset,
)

if TYPE_CHECKING:
    from ipulse.spec import SHDData, SSCData

SAMPLES_AT_ONCE = 256
HINT = (
    "put the data set's HDF5 files there under their own names, unpacked (shd_train.h5, "
    "shd_test.h5; ssc_train.h5, ssc_valid.h5, ssc_test.h5), or name their folder in data.name"
)


def load(
    data: Union[SHDData, SSCData], directory: DataDirectory, progress: LoadProgress
) -> Dataset:
    """The training file's samples, then the held-out file's.

    Raises DataUnavailable where a file is missing, DataInvalid where it is not as it should be.
    """
    held_out = "valid" if data.kind == "ssc" and data.judged_on == "validation" else "test"
    paths = [
        directory.file(data.name, f"{data.kind}_{part}.h5", hint=HINT)
        for part in ("train", held_out)
    ]
    binning = Binning(
        data.steps, input_channels(data), data.capacity, data.subset_seed, data.step_ms
    )
    samples = 0
    for path in paths:  # check both files before minutes are spent on reading the first
        with opened(path) as file:
            samples += len(_part(file, path, data).chosen)
    labels = []
    for path in paths:
        with opened(path) as file:
            part = _part(file, path, data)
            labels.append(part.labels[part.chosen])
            for first in range(0, len(part.labels), SAMPLES_AT_ONCE):
                _add(path, data, binning, part, first)
                progress(binning.samples, samples)
    is_test = np.repeat([False, True], [len(part) for part in labels])
    return divided(binning, np.concatenate(labels), is_test)


class _Part(NamedTuple):
    """The contents of an open file."""

    times: Any  # a list of seconds per sample
    units: Any  # a list of channels per sample
    labels: np.ndarray  # integers [samples]
    chosen: np.ndarray  # the numbers of the samples to use, ascending


def _part(file: Any, path: Path, data: Union[SHDData, SSCData]) -> _Part:
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
    wrong = np.flatnonzero(~np.isin(labels, np.arange(class_count(data))))
    if len(wrong):
        raise DataInvalid(
            f"{path}: sample {wrong[0]:,} has the label {labels[wrong[0]]}; {data.kind} has 0 to "
            f"{class_count(data) - 1}"
        )
    return _Part(times, units, labels, subset(len(labels), data.samples, data.subset_seed))


def _add(
    path: Path, data: Union[SHDData, SSCData], binning: Binning, part: _Part, first: int
) -> None:
    """Add the chosen samples among the SAMPLES_AT_ONCE that begin with number `first`."""
    chosen = part.chosen[(part.chosen >= first) & (part.chosen < first + SAMPLES_AT_ONCE)]
    if not len(chosen):
        return
    rows = slice(first, first + SAMPLES_AT_ONCE)
    try:
        times, units = part.times[rows][chosen - first], part.units[rows][chosen - first]
    except (MemoryError, ValueError) as error:
        raise DataInvalid(
            f"{path}: a sample from {first:,} to {first + SAMPLES_AT_ONCE - 1:,} cannot be read; "
            f"is it whole? {error}"
        ) from error
    lengths = np.array([len(seconds) for seconds in times])
    of_units = np.array([len(channels) for channels in units])
    for at in np.flatnonzero(lengths != of_units)[:1]:
        raise DataInvalid(
            f"{path}: sample {chosen[at]:,} has {lengths[at]:,} times and {of_units[at]:,} units"
        )
    sample = np.repeat(np.arange(len(chosen)), lengths)
    seconds = np.concatenate(times)
    channels = np.concatenate(units).astype(np.int64)
    for at in np.flatnonzero(~((seconds >= 0) & (seconds < np.inf)))[:1]:
        raise DataInvalid(f"{path}: sample {chosen[sample[at]]:,} has a time that is no time")
    for at in np.flatnonzero((channels < 0) | (channels >= input_channels(data)))[:1]:
        raise DataInvalid(
            f"{path}: sample {chosen[sample[at]]:,} has a unit outside of 0 to "
            f"{input_channels(data) - 1}"
        )
    step = binning.step_of(seconds, path, per_ms=1e-3, is_measured=True)
    binning.add(sample, step, channels, samples=len(chosen))
