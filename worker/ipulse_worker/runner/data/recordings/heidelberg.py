"""The Heidelberg spiking data sets, SHD and SSC, from their HDF5 files.

A file has `spikes/times` (per sample a list of seconds), `spikes/units` (of channels) and
`labels`. They are read a chunk of samples at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.spike_lists import PER_MS, SpikeLists, lists_in, opened, read_lists
from ipulse_core.spec.derived_values import class_count, input_channels
from ipulse_worker.runner.data.binning import Binning, binning_of
from ipulse_worker.runner.data.dataset import (
    Dataset,
    LoadProgress,
    divided,
    subset,
)
from ipulse_worker.runner.data.uploaded import file_name

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
    """The training file's samples, then the test file's.

    Raises DataUnavailable where a file is missing, DataInvalid where it is not as it should be.
    """
    held_out = "valid" if data.kind == "ssc" and data.judged_on == "validation" else "test"
    paths = [
        directory.file(file_name(data), f"{data.kind}_{part}.h5", hint=HINT)
        for part in ("train", held_out)
    ]
    binning = binning_of(data, data.subset_seed)
    samples = 0
    for path in paths:  # check both files before minutes are spent on reading the first
        with opened(path) as file:
            samples += len(_part(file, path, data).chosen)
    labels = []
    for path in paths:
        with opened(path) as file:
            part = _part(file, path, data)
            labels.append(part.lists.labels[part.chosen])
            for first in range(0, len(part.lists.labels), SAMPLES_AT_ONCE):
                _add(path, data, binning, part, first)
                progress(binning.samples, samples)
    is_test = np.repeat([False, True], [len(part) for part in labels])
    return divided(binning, np.concatenate(labels), is_test)


class _Part(NamedTuple):
    """The contents of an open file."""

    lists: SpikeLists
    chosen: np.ndarray  # the numbers of the samples to use, ascending


def _part(file: Any, path: Path, data: Union[SHDData, SSCData]) -> _Part:
    lists = lists_in(file, path, class_count(data))
    return _Part(lists, subset(len(lists.labels), data.samples, data.subset_seed))


def _add(
    path: Path, data: Union[SHDData, SSCData], binning: Binning, part: _Part, first: int
) -> None:
    """Add the chosen samples among the SAMPLES_AT_ONCE that begin with number `first`."""
    chosen = part.chosen[(part.chosen >= first) & (part.chosen < first + SAMPLES_AT_ONCE)]
    if not len(chosen):
        return
    rows = slice(first, first + SAMPLES_AT_ONCE)
    lengths, seconds, channels = read_lists(path, part.lists, rows, chosen, input_channels(data))
    step = binning.step_of(seconds, path, per_ms=PER_MS, is_measured=True)
    binning.add(np.repeat(np.arange(len(chosen)), lengths), step, channels, samples=len(chosen))
