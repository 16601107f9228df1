"""Samples in one npz file; docs/reference/data.md describes its arrays."""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Tuple, Union

import numpy as np

from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.npz_file import NpyHeader, NpzFile, UnknownArrays, opened_npz
from ipulse_core.data_files.npz_names import renaming_advice
from ipulse_core.data_files.sample_file import EventBlock, SampleFile
from ipulse_core.limits import MOST_COUNTED

# The formats of samples: names of the arrays and their numbers of axes.
FORMS: Dict[Tuple[str, ...], Tuple[int, ...]] = {
    ("values",): (2, 3),  # [samples, values] or [samples, rows, columns]
    ("spikes",): (3,),  # [samples, steps, channels]
    ("ids", "counts"): (3, 2),  # [samples, steps, slots] and [samples, steps]
    ("event_samples", "event_times_ms", "event_channels"): (1, 1, 1),
}
BESIDES = {"labels", "targets", "test"}  # what a file may have with the arrays of any form
KNOWN = {*BESIDES, *(name for names in FORMS for name in names)}
BYTES_AT_ONCE = 2**24
EVENTS_AT_ONCE = 2**20
EVENTS_IN_SPIKES = 2**26  # of the samples that are read at once


@contextmanager
def opened_npz_samples(path: Path) -> Iterator[SampleFile]:
    """Open a file in any of the forms.

    Raises:
        DataInvalid: it does not have the arrays of one form.
    """
    with _opened(path) as file:
        form = form_of(path, file.headers)
        targets = read_targets(path, file)
        labels = _labels(path, file, targets)
        samples = len(labels)
        about: Dict[str, Any] = {"targets": targets, "has_labels": "labels" in file.headers}
        for name, axes in zip(form, FORMS[form]):
            shape = file.headers[name].shape
            allowed = FORMS[form] if form == ("values",) else (axes,)
            if len(shape) not in allowed:
                raise DataInvalid(f"{path}: {name} must have {axes} axes; it has {len(shape)}")
            if not name.startswith("event") and shape[0] != samples:
                beside = "labels" if about["has_labels"] else "targets"
                raise DataInvalid(f"{path}: {shape[0]:,} samples of {name}, {samples:,} {beside}")
        test = _test(path, file, samples)
        shape = file.headers[form[0]].shape
        none: Iterator[np.ndarray] = iter(())
        if form == ("values",):
            channels = math.prod(shape[1:])
            rows = _values(path, file, channels)
            yield SampleFile(
                "npz", "values", labels, test, iter(()), rows, None, channels=channels, **about
            )
        elif form == ("spikes",):
            blocks = _spikes(path, file)
            yield SampleFile(
                "npz", "spikes", labels, test, blocks, none, None, shape[1], shape[2], **about
            )
        elif form == ("ids", "counts"):
            blocks = _ids(path, file)
            yield SampleFile("npz", "ids", labels, test, blocks, none, None, shape[1], **about)
        else:
            events = _events(path, file, samples)
            yield SampleFile("npz", "events", labels, test, events, none, **about)


@contextmanager
def _opened(path: Path) -> Iterator[NpzFile]:
    try:
        with opened_npz(path, KNOWN) as file:
            yield file
    except UnknownArrays as error:
        raise DataInvalid(f"{error.message}{renaming_advice(path)}") from error


def form_of(path: Path, headers: Dict[str, NpyHeader]) -> Tuple[str, ...]:
    """Return the names of the arrays of the file's form.

    Raises:
        DataInvalid: it has another set of arrays.
    """
    given = set(headers) - BESIDES
    form = next((names for names in FORMS if given == set(names)), None)
    if form is None:
        forms = "; ".join(" and ".join(names) for names in FORMS)
        raise DataInvalid(
            f"{path} must have the arrays of one form ({forms}); it has "
            f"{', '.join(sorted(given)) or 'none'}"
        )
    return form


def read_targets(path: Path, file: NpzFile) -> Optional[np.ndarray]:
    """Return the array `targets` as float32, None if there is none.

    Raises:
        DataInvalid: it has another form, or a value is not finite.
    """
    header = file.headers.get("targets")
    if header is None:
        return None
    is_of_numbers = header.dtype.kind in "iuf" and len(header.shape) in (2, 3)
    if not is_of_numbers or header.shape[0] < 2 or 0 in header.shape:
        raise DataInvalid(
            f"{path}: targets must be numbers [samples, outputs] or [samples, steps, outputs] of "
            f"at least two samples; they are {header.dtype} {header.shape}"
        )
    with np.errstate(over="ignore"):
        targets: np.ndarray = file.array("targets").astype(np.float32)
    for at in np.argwhere(~np.isfinite(targets))[:1]:
        raise DataInvalid(f"{path}: sample {at[0]:,} has a target that is not finite in float32")
    return targets


def _labels(path: Path, file: NpzFile, targets: Optional[np.ndarray]) -> np.ndarray:
    header = file.headers.get("labels")
    if header is None and targets is not None:
        return np.zeros(len(targets), np.int64)
    is_list = header is not None and len(header.shape) == 1 and header.dtype.kind in "iu"
    if header is None or not is_list or header.shape[0] < 2:
        raise DataInvalid(
            f"{path} must have labels, a list of at least two integers, or targets to regress"
        )
    if targets is not None and len(targets) != header.shape[0]:
        raise DataInvalid(f"{path}: {len(targets):,} targets, {header.shape[0]:,} labels")
    return file.array("labels")


def _test(path: Path, file: NpzFile, samples: int) -> Optional[np.ndarray]:
    if "test" not in file.headers:
        return None
    test = file.array("test")
    if test.dtype != np.bool_ or test.shape != (samples,) or test.all() or not test.any():
        raise DataInvalid(
            f"{path}: test must be booleans, one per sample, some of them true and some not"
        )
    return test


def _at_once(header: NpyHeader) -> int:
    row_bytes = header.dtype.itemsize * math.prod(header.shape[1:])
    return max(1, BYTES_AT_ONCE // max(1, row_bytes))


def _values(path: Path, file: NpzFile, channels: int) -> Iterator[np.ndarray]:
    first = 0
    for rows in file.rows("values", _at_once(file.headers["values"])):
        flat = rows.reshape(len(rows), channels)
        is_right = ((flat >= 0.0) & (flat <= 1.0)).all(axis=1)
        for at in np.flatnonzero(~is_right)[:1]:
            raise DataInvalid(f"{path}: sample {first + at:,} has a value outside of [0, 1]")
        yield rows
        first += len(rows)


def _spikes(path: Path, file: NpzFile) -> Iterator[EventBlock]:
    first = 0
    for rows in file.rows("spikes", _at_once(file.headers["spikes"])):
        # Whether a job counts them is in its spec: those that it does not count, it refuses.
        sample, step, channel = events_in(path, first, rows, counts=True)
        yield EventBlock(first + sample, step, channel)
        first += len(rows)


def events_in(
    path: Path, first: int, spikes: np.ndarray, counts: bool
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sample, step and channel of the events in spikes `[samples, steps, channels]`.

    Args:
        path: of the file, for messages.
        first: the number of the first of these samples.
        spikes: of any type.
        counts: True if a number of events may be in a place, False for one at most.

    Raises:
        DataInvalid: a value is no such number, or the events are too many to be read at once.
    """
    if spikes.dtype.kind not in "biuf":
        raise DataInvalid(f"{path}: spikes must be numbers or booleans; they are {spikes.dtype}")
    sample, step, channel = np.nonzero(spikes)
    values = spikes[sample, step, channel]
    if not counts:
        if not (values == 1).all():
            raise DataInvalid(
                f"{path}: spikes must be 0 or 1, true or false; for numbers of events set "
                "data.input to counts"
            )
        return sample, step, channel
    is_count = (values >= 1) & (values <= MOST_COUNTED) & (values == np.floor(values))
    for at in np.flatnonzero(~is_count)[:1]:
        raise DataInvalid(
            f"{path}: spikes of sample {first + sample[at]:,}, step {step[at]:,} and channel "
            f"{channel[at]:,} are {values[at]}; they must be whole numbers from 0 to "
            f"{MOST_COUNTED:,}"
        )
    if values.sum(dtype=np.int64) > EVENTS_IN_SPIKES:
        raise DataInvalid(
            f"{path}: samples {first:,} to {first + len(spikes) - 1:,} have more than "
            f"{EVENTS_IN_SPIKES:,} events: store fewer events"
        )
    times = values.astype(np.int64)
    return np.repeat(sample, times), np.repeat(step, times), np.repeat(channel, times)


def require_matching(
    path: Path, ids: Union[NpyHeader, np.ndarray], counts: Union[NpyHeader, np.ndarray]
) -> None:
    """Raise DataInvalid unless ids and counts are integers of the same samples and steps."""
    if ids.dtype.kind not in "iu" or counts.dtype.kind not in "iu":
        raise DataInvalid(f"{path}: ids and counts must be integers")
    if ids.shape[:2] != counts.shape:
        raise DataInvalid(f"{path}: ids are {ids.shape}, so counts must be {ids.shape[:2]}")


def spikes_in(
    path: Path, ids: np.ndarray, counts: np.ndarray
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sample, step and channel of each spike. Raises DataInvalid for a wrong count."""
    slots = ids.shape[2]
    if counts.size and not (counts.min() >= 0 and counts.max() <= slots):
        raise DataInvalid(f"{path}: counts must be 0 to {slots}, the number of slots")
    sample, step, slot = np.nonzero(np.arange(slots) < counts[:, :, None])
    return sample, step, ids[sample, step, slot]


def _ids(path: Path, file: NpzFile) -> Iterator[EventBlock]:
    ids, counts = file.headers["ids"], file.headers["counts"]
    require_matching(path, ids, counts)
    at_once = _at_once(ids)
    first = 0
    for chunk, filled in zip(file.rows("ids", at_once), file.rows("counts", at_once)):
        sample, step, ids_of_spikes = spikes_in(path, chunk, filled)
        yield EventBlock(first + sample, step, ids_of_spikes)
        first += len(chunk)


def _events(path: Path, file: NpzFile, samples: int) -> Iterator[EventBlock]:
    names = ("event_samples", "event_times_ms", "event_channels")
    headers = [file.headers[name] for name in names]
    if len({header.shape for header in headers}) != 1:
        raise DataInvalid(f"{path}: the three arrays of events must be equally long")
    kinds = [header.dtype.kind for header in headers]
    if kinds[0] not in "iu" or kinds[2] not in "iu" or kinds[1] == "b":
        raise DataInvalid(
            f"{path}: event_samples and event_channels must be integers, event_times_ms numbers"
        )
    first = 0
    for sample, time_ms, channel in zip(*(file.rows(name, EVENTS_AT_ONCE) for name in names)):
        if sample.min() < 0 or sample.max() >= samples:
            raise DataInvalid(f"{path}: event_samples must be 0 to {samples - 1}")
        for at in np.flatnonzero(~np.isfinite(time_ms))[:1]:
            raise DataInvalid(f"{path}: event {first + at:,} has a time that is no time")
        yield EventBlock(sample, time_ms, channel)
        first += len(sample)
