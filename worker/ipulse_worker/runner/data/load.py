"""Loads the data set of a spec and checks it as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Iterator

import numpy as np

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.numbers import plain_number
from ipulse_core.spec.kind_fields import field_of
from ipulse_worker.runner.data import (
    delayed_recall,
    digits,
    events,
    frozen_noise,
    npz,
    poisson,
    randman,
    yin_yang,
)
from ipulse_worker.runner.data.dataset import DataInvalid, Dataset, DataTooLarge, LoadProgress
from ipulse_worker.runner.data.event_counts import EventCounts
from ipulse_worker.runner.data.recordings import dvs_gesture, heidelberg, n_mnist
from ipulse_worker.runner.data.uploaded import is_uploaded
from ipulse_worker.runner.data.validation import with_validation

if TYPE_CHECKING:
    from ipulse.spec import Data


# The unit of times in each kind of files.
UNITS = {
    "npz": "milliseconds",
    "events": "seconds in HDF5, milliseconds in CSV",
    "shd": "seconds",
    "ssc": "seconds",
}


def load(data: Data, directory: DataDirectory, progress: LoadProgress) -> Dataset:
    """Return the data set, which depends only on the spec and its files.

    Raises:
        DataUnavailable: with a hint. Exceptions of `progress` are not caught.
        DataInvalid: a file has another format, no sample has an input spike, or a class is missing
            in the training or the validation part.
        DataTooLarge: the samples take more memory than there is.
    """
    try:
        dataset = _load(data, directory, progress)
        return _checked(with_validation(dataset, data), data)
    except MemoryError as error:
        raise DataTooLarge(f"the {_name_of(data)}: {error}") from error


def _load(data: Data, directory: DataDirectory, progress: LoadProgress) -> Dataset:
    if data.kind == "digits":
        return digits.load(data, progress)
    if data.kind == "randman":
        return randman.generate(data, progress)
    if data.kind == "yin_yang":
        return yin_yang.generate(data)
    if data.kind == "poisson":
        return poisson.generate(data, progress)
    if data.kind == "frozen_noise":
        return frozen_noise.generate(data, progress)
    if data.kind == "delayed_recall":
        return delayed_recall.generate(data, progress)
    if data.kind == "npz":
        return npz.load(data, directory, progress)
    if data.kind == "events":
        return events.load(data, directory, progress)
    if data.kind == "shd" or data.kind == "ssc":
        return heidelberg.load(data, directory, progress)
    if data.kind == "n_mnist":
        return n_mnist.load(data, directory, progress)
    if data.kind == "dvs_gesture":
        return dvs_gesture.load(data, directory, progress)
    raise TypeError(f"no loader for data of the kind {data.kind}")


def _checked(dataset: Dataset, data: Data) -> Dataset:
    """Return the data set with its warnings.

    Raises:
        DataInvalid: no training sample has an input spike.
    """
    spikes = np.diff(dataset.trains.offsets)
    if not spikes[dataset.training].any():
        raise DataInvalid(_why_silent(dataset, data))
    return replace(dataset, warnings=tuple(_warnings(dataset, data)))


def _name_of(data: Data) -> str:
    """Return the data set's kind, and the name of its files if it has files."""
    name = "" if is_uploaded(data) else field_of(data, "name")
    return f"data set {name} ({data.kind})" if name else f"data set {data.kind}"


def _why_silent(dataset: Dataset, data: Data) -> str:
    events, name = dataset.events, f"The {_name_of(data)}"
    if events.kept:
        return f"{name}: only test samples have input spikes, no training sample has"
    if not events.read:
        return (
            f"{name}: none of the {dataset.trains.samples:,} samples has an event, so "
            "there is nothing to learn from"
        )
    return (
        f"{name}: all of its {events.read:,} events are outside of the time steps"
        f"{_times(events)}: {_hint(data)}"
    )


def _warnings(dataset: Dataset, data: Data) -> Iterator[str]:
    events, name = dataset.events, f"The {_name_of(data)}"
    if 2 * events.outside > events.read:
        yield (
            f"{name}: {events.outside:,} of {events.read:,} events are outside of the "
            f"time steps{_times(events)}: {_hint(data)}"
        )
    elif data.steps > 1 and events.last_ms is not None and events.last_ms < data.step_ms:
        yield (
            f"{name}: all events are in the first of {data.steps:,} time steps"
            f"{_times(events)}: {_hint(data)}"
        )
    if dataset.targets is not None:
        return  # a regression has no labels
    training = np.unique(dataset.labels[dataset.training])
    test = np.unique(dataset.labels[dataset.test])
    if len(training) == 1:
        yield (
            f"{name}: all training samples have the label {training[0]}, so there is "
            "nothing to distinguish"
        )
    elif len(test) and not np.isin(test, training).any():
        yield (
            f"{name}: no label of the test samples ({_some(test)}) is among those of the "
            f"training samples ({_some(training)}), so the test accuracy says nothing"
        )


def _times(events: EventCounts) -> str:
    """Return the range of the times, if events have times."""
    if events.first_ms is None or events.last_ms is None:
        return ""
    first, last = (plain_number(time, 6) for time in (events.first_ms, events.last_ms))
    return f", from {first} ms to {last} ms"


def _hint(data: Data) -> str:
    end = plain_number(data.steps * data.step_ms, 6)
    steps = f"{data.steps:,} steps of {plain_number(data.step_ms)} ms end at {end} ms"
    if data.kind not in UNITS:
        return f"{steps}; change data.steps or data.step_ms"
    return (
        f"{steps}; change data.steps or data.step_ms, or the times if they are not in "
        f"{UNITS[data.kind]}"
    )


def _some(labels: np.ndarray) -> str:
    shown = ", ".join(str(label) for label in labels[:5])
    return f"{shown}, ..." if len(labels) > 5 else shown
