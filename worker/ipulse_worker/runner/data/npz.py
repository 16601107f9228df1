"""User data in one npz file; docs/reference/data.md describes its arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Dict, Optional

import numpy as np

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.npz_file import opened_npz
from ipulse_core.data_files.npz_samples import (
    BESIDES,
    FORMS,
    KNOWN,
    events_in,
    read_targets,
    require_matching,
    spikes_in,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_worker.runner.data.binning import Binning, binning_of
from ipulse_worker.runner.data.dataset import DataInvalid, Dataset, LoadProgress, divided, hold_out
from ipulse_worker.runner.data.encoding import encode
from ipulse_worker.runner.data.spike_trains import index_type
from ipulse_worker.runner.data.uploaded import file_name

if TYPE_CHECKING:
    from ipulse.spec import NpzData

SAMPLES_AT_ONCE = 256
EVENTS_AT_ONCE = 2**21  # of whole samples; a longer sample is added alone


def load(data: NpzData, directory: DataDirectory, progress: LoadProgress) -> Dataset:
    """The samples in the order of the file.

    Raises DataUnavailable where there is no file, DataInvalid where it is not as described, and
    whatever `progress` raises.
    """
    path = directory.file(
        f"{file_name(data)}.npz", hint="docs/reference/data.md has the arrays that it must hold"
    )
    with opened_npz(path, KNOWN) as file:
        targets = read_targets(path, file) if field_of(data, "outputs") else None
        arrays = {name: file.array(name) for name in file.headers if name != "targets"}
    labels = _labels(path, arrays, data) if targets is None else np.zeros(len(targets), np.int32)
    binning = binning_of(data, data.split_seed)
    images = _add(path, arrays, data, binning, len(labels), progress)
    test = arrays.get("test")
    if test is None:
        test = hold_out(labels, data.test_fraction, data.split_seed)
    elif test.dtype != np.bool_ or test.shape != labels.shape or test.all() or not test.any():
        raise DataInvalid(
            f"{path}: test must be booleans, one per sample, some of them true and some not"
        )
    return divided(binning, labels, test, images, targets=targets)


def _labels(path: Path, arrays: Dict[str, np.ndarray], data: NpzData) -> np.ndarray:
    labels = arrays.get("labels")
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) < 2:
        raise DataInvalid(f"{path} must have labels, a list of at least two integers")
    wrong = np.flatnonzero((labels < 0) | (labels >= data.classes))
    if len(wrong):
        raise DataInvalid(
            f"{path}: sample {wrong[0]:,} has the label {labels[wrong[0]]}; data.classes allows 0 "
            f"to {data.classes - 1}"
        )
    return labels.astype(np.int32)


def _add(
    path: Path,
    arrays: Dict[str, np.ndarray],
    data: NpzData,
    binning: Binning,
    samples: int,
    progress: LoadProgress,
) -> Optional[np.ndarray]:
    """Add every sample's spikes; return the values if they are images."""
    given = set(arrays) - BESIDES
    form = next((names for names in FORMS if given == set(names)), None)
    if form is None:
        forms = "; ".join(" and ".join(names) for names in FORMS)
        raise DataInvalid(
            f"{path} must have the arrays of one form ({forms}); it has "
            f"{', '.join(sorted(given)) or 'none'}"
        )
    for name, axes in zip(form, FORMS[form]):
        allowed = FORMS[form] if form == ("values",) else (axes,)
        if arrays[name].ndim not in allowed:
            raise DataInvalid(f"{path}: {name} must have {axes} axes; it has {arrays[name].ndim}")
        if not name.startswith("event") and len(arrays[name]) != samples:
            raise DataInvalid(
                f"{path}: {len(arrays[name]):,} samples of {name}, {samples:,} labels or targets"
            )
    if (form == ("values",)) != (data.encoding is not None):
        raise DataInvalid(
            f"{path} has {' and '.join(form)}: data.encoding must be "
            f"{'given' if form == ('values',) else 'null'}"
        )
    if form == ("values",):
        return _add_values(path, arrays["values"], data, binning, progress)
    if form == ("spikes",):
        _add_spikes(path, arrays["spikes"], data, binning, progress)
    elif form == ("ids", "counts"):
        _add_ids(path, arrays["ids"], arrays["counts"], data, binning, progress)
    else:
        _add_events(path, arrays, data, binning, samples, progress)
    return None


def _add_values(
    path: Path, values: np.ndarray, data: NpzData, binning: Binning, progress: LoadProgress
) -> Optional[np.ndarray]:
    flat = values.reshape(len(values), -1)
    _check_channels(path, "values", flat.shape[1], data)
    assert data.encoding is not None  # noqa: S101 - checked by the caller
    for first in range(0, len(flat), SAMPLES_AT_ONCE):
        chunk = flat[first : first + SAMPLES_AT_ONCE].astype(np.float64)
        if not ((chunk >= 0.0) & (chunk <= 1.0)).all():
            wrong = np.flatnonzero(~((chunk >= 0.0) & (chunk <= 1.0)).all(axis=1))[0]
            raise DataInvalid(f"{path}: sample {first + wrong:,} has a value outside of [0, 1]")
        events = encode(chunk, data.encoding, data.steps, data.step_ms, first)
        binning.add(*events, samples=len(chunk))
        progress(binning.samples, len(flat))
    return values if values.ndim == 3 else None


def _add_spikes(
    path: Path, spikes: np.ndarray, data: NpzData, binning: Binning, progress: LoadProgress
) -> None:
    _check_channels(path, "spikes", spikes.shape[2], data)
    for first in range(0, len(spikes), SAMPLES_AT_ONCE):
        chunk = spikes[first : first + SAMPLES_AT_ONCE]
        binning.add(*events_in(path, first, chunk, binning.counts_events), samples=len(chunk))
        progress(binning.samples, len(spikes))


def _add_ids(
    path: Path,
    ids: np.ndarray,
    counts: np.ndarray,
    data: NpzData,
    binning: Binning,
    progress: LoadProgress,
) -> None:
    require_matching(path, ids, counts)
    for first in range(0, len(ids), SAMPLES_AT_ONCE):
        chunk, filled = (
            ids[first : first + SAMPLES_AT_ONCE],
            counts[first : first + SAMPLES_AT_ONCE],
        )
        sample, step, listed = spikes_in(path, chunk, filled)
        channel = listed.astype(np.int64)
        _check_ids(path, "ids", channel, first + sample, data)
        binning.add(sample, step, channel, samples=len(chunk))
        progress(binning.samples, len(ids))


def _add_events(
    path: Path,
    arrays: Dict[str, np.ndarray],
    data: NpzData,
    binning: Binning,
    samples: int,
    progress: LoadProgress,
) -> None:
    sample, channel = arrays["event_samples"], arrays["event_channels"]
    time_ms = arrays["event_times_ms"]
    if not len(sample) == len(channel) == len(time_ms):
        raise DataInvalid(f"{path}: the three arrays of events must be equally long")
    if sample.dtype.kind not in "iu" or channel.dtype.kind not in "iu" or time_ms.dtype == bool:
        raise DataInvalid(
            f"{path}: event_samples and event_channels must be integers, event_times_ms numbers"
        )
    if len(sample) and not (sample.min() >= 0 and sample.max() < samples):
        raise DataInvalid(f"{path}: event_samples must be 0 to {samples - 1}")
    if not np.isfinite(time_ms).all():
        at = np.flatnonzero(~np.isfinite(time_ms))[0]
        raise DataInvalid(f"{path}: event {at:,} has a time that is no time")
    _check_ids(path, "event_channels", channel, sample, data)
    sample = sample.astype(index_type(samples))
    if (sample[1:] < sample[:-1]).any():
        order = np.argsort(sample, kind="stable")  # two-byte integers are sorted by radix
        sample, time_ms, channel = sample[order], time_ms[order], channel[order]
    begins = np.searchsorted(sample, np.arange(samples, dtype=sample.dtype))
    begins = np.append(begins, len(sample))
    first = 0
    while first < samples:
        fitting = np.searchsorted(begins, begins[first] + EVENTS_AT_ONCE, side="right") - 1
        end = max(first + 1, int(fitting))
        events = slice(begins[first], begins[end])
        step = binning.step_of(time_ms[events], f"{path}, event_times_ms")
        binning.add(
            sample[events].astype(np.int64) - first, step, channel[events], samples=end - first
        )
        progress(end, samples)
        first = end


def _check_ids(
    path: Path, name: str, channel: np.ndarray, sample: np.ndarray, data: NpzData
) -> None:
    wrong = np.flatnonzero((channel < 0) | (channel >= data.channels))
    if len(wrong):
        raise DataInvalid(
            f"{path}: sample {sample[wrong[0]]:,} has the channel {channel[wrong[0]]} in {name}; "
            f"data.channels allows 0 to {data.channels - 1}"
        )


def _check_channels(path: Path, name: str, found: int, data: NpzData) -> None:
    if found != data.channels:
        raise DataInvalid(
            f"{path}: {name} has {found:,} channels, data.channels is {data.channels:,}"
        )
