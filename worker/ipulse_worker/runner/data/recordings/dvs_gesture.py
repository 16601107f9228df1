"""DVS128 Gesture, as published (AEDAT recordings with tables of gestures) or cut into npy files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, List, NamedTuple, Sequence, Tuple

import numpy as np

from ipulse_core.data_sets import LAYOUTS
from ipulse_core.derived_values import class_count, input_channels
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.dataset import (
    DataInvalid,
    Dataset,
    DataUnavailable,
    LoadProgress,
    divided,
    subset,
)
from ipulse_worker.runner.data.directory import COMPANION, DataDirectory
from ipulse_worker.runner.data.recordings.aedat import pixel_events
from ipulse_worker.runner.data.recordings.gesture_tables import labels_in, names_in

if TYPE_CHECKING:
    from ipulse.spec import DVSGestureData

SIDE = 128  # pixels
# Lists of the names of recordings; or folders of recordings, each a folder of CLASS.npy.
LISTS, CUT = LAYOUTS["dvs_gesture"]
ROWS_AT_ONCE = 2**20  # of an npy file
HINT = (
    f"put there either the published recordings ({' and '.join(LISTS)}, *.aedat and *_labels.csv) "
    f"or the cut samples ({' and '.join(CUT)} with folders of npy files, 0.npy to 10.npy)"
)


class Gesture(NamedTuple):
    """The place of one sample in its file."""

    path: Path
    label: int
    begin_us: int  # within the recording; a cut sample is all of its file
    end_us: int


def load(data: DVSGestureData, directory: DataDirectory, progress: LoadProgress) -> Dataset:
    """The gestures to learn from, then those to test, in the order of the lists or names.

    Raises DataUnavailable where something is missing, DataInvalid where a file is damaged.
    """
    directory.folder(data.name, hint=HINT)
    if directory.has(data.name, LISTS[0]):
        parts = [_recorded(data, directory, name) for name in LISTS]
        _check_disjoint(*parts)
    elif directory.has(data.name, CUT[0]):
        parts = [_cut(data, directory, name) for name in CUT]
    else:
        folder = directory.folder(data.name, hint=HINT)
        raise DataUnavailable(f"neither {LISTS[0]} nor {CUT[0]} is in {folder}: {HINT}")
    for gestures, name in zip(parts, ("to learn from", "to test")):
        if not gestures:
            raise DataUnavailable(f"there are no gestures {name} in {data.name}: {HINT}")
    chosen = [
        [part[at] for at in subset(len(part), data.samples, data.subset_seed)] for part in parts
    ]
    gestures = [gesture for part in chosen for gesture in part]
    binning = Binning(
        data.steps, input_channels(data), data.capacity, data.subset_seed, data.step_ms
    )
    for path, of_path in _by_file(gestures):
        if path.suffix == ".aedat":
            _add_recording(path, of_path, data, binning)
        else:
            _add_cut(path, data, binning)
        progress(binning.samples, len(gestures))
    is_test = np.repeat([False, True], [len(part) for part in chosen])
    return divided(binning, np.array([gesture.label for gesture in gestures]), is_test)


def _recorded(data: DVSGestureData, directory: DataDirectory, listed: str) -> List[Gesture]:
    """Return the gestures of the recordings in a list."""
    gestures = []
    for name in names_in(directory.file(data.name, listed, hint=HINT)):
        path = directory.file(data.name, name, hint=HINT)
        if path.suffix != ".aedat":
            raise DataInvalid(f"{listed} names {name}, which is no .aedat file")
        table = directory.file(data.name, f"{path.stem}_labels.csv", hint=HINT)
        gestures += [Gesture(path, *row) for row in labels_in(table, class_count(data))]
    return gestures


def _check_disjoint(training: Sequence[Gesture], test: Sequence[Gesture]) -> None:
    """Raise DataInvalid if a recording is in both lists."""
    tested = {gesture.path for gesture in test}
    for gesture in training:
        if gesture.path in tested:
            raise DataInvalid(
                f"{gesture.path.name} is in {LISTS[0]} and in {LISTS[1]}, next to it: a recording "
                "is either for training or for the test"
            )


def _cut(data: DVSGestureData, directory: DataDirectory, part: str) -> List[Gesture]:
    """Return the cut samples of one folder, by recording and class."""
    gestures = []
    for folder in sorted(directory.folder(data.name, part, hint=HINT).iterdir()):
        if not folder.is_dir():
            continue
        for label in range(class_count(data)):
            if directory.has(data.name, part, folder.name, f"{label}.npy"):
                path = directory.file(data.name, part, folder.name, f"{label}.npy", hint=HINT)
                gestures.append(Gesture(path, label, 0, 0))
        for path in folder.iterdir():
            is_sample = path.suffix == ".npy" and not path.name.startswith(COMPANION)
            if is_sample and not re.fullmatch(r"10|[0-9]", path.stem):
                raise DataInvalid(
                    f"{path}: the name must be the class, 0 to {class_count(data) - 1}"
                )
    return gestures


def _by_file(gestures: Sequence[Gesture]) -> List[Tuple[Path, List[Gesture]]]:
    """Group gestures of the same file."""
    runs: List[Tuple[Path, List[Gesture]]] = []
    for gesture in gestures:
        if not runs or runs[-1][0] != gesture.path:
            runs.append((gesture.path, []))
        runs[-1][1].append(gesture)
    return runs


def _add_recording(
    path: Path, gestures: Sequence[Gesture], data: DVSGestureData, binning: Binning
) -> None:
    """Read gestures that are in order of time and do not overlap."""
    begins = np.array([gesture.begin_us for gesture in gestures])
    ends = np.array([gesture.end_us for gesture in gestures])
    found: List[Tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for events in pixel_events(path):
        channel = _channel(path, events.x, events.y, events.polarity, events.offset, "byte", data)
        sample = np.searchsorted(begins, events.time_us, side="right") - 1
        inside = (sample >= 0) & (events.time_us < ends[sample])
        sample = sample[inside]
        time_us = events.time_us[inside] - begins[sample]
        # Small types while the recording is read; the binning needs whole samples.
        step = binning.step_of(time_us, path, per_ms=1000.0).astype(np.int32)
        found.append((sample.astype(np.int32), step, channel[inside].astype(np.uint16)))
    empty = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint16)
    sample, step, channel = (np.concatenate(parts) for parts in zip(empty, *found))
    silent = np.flatnonzero(np.bincount(sample, minlength=len(gestures)) == 0)
    if len(silent):
        gesture = gestures[silent[0]]
        raise DataInvalid(
            f"{path} has no event from {gesture.begin_us} to {gesture.end_us} us, where its table "
            "has a gesture; is it whole?"
        )
    binning.add(sample, step, channel, samples=len(gestures))


def _add_cut(path: Path, data: DVSGestureData, binning: Binning) -> None:
    """Read a sample from an array `[events, 4]` of x, y, polarity and time in milliseconds."""
    try:
        rows = np.load(str(path), mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataInvalid(f"{path} cannot be read as npy; is it whole? {error}") from error
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.shape[1] != 4:
        raise DataInvalid(f"{path} must hold one array [events, 4] of x, y, polarity, time in ms")
    if rows.dtype.kind not in "iuf":
        raise DataInvalid(f"{path} must hold numbers")
    steps, channels = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for first in range(0, len(rows), ROWS_AT_ONCE):
        chunk = np.asarray(rows[first : first + ROWS_AT_ONCE])
        x, y, polarity = chunk[:, :3].astype(np.float64).T
        time_ms = chunk[:, 3]
        number = first + np.arange(len(x))
        channels.append(_channel(path, x, y, polarity, number, "event", data))
        if not np.isfinite(time_ms).all():
            at = number[np.flatnonzero(~np.isfinite(time_ms))[0]]
            raise DataInvalid(f"{path}: event {at:,} has a time that is no time")
        steps.append(binning.step_of(time_ms, path, is_measured=True))
    step = np.concatenate(steps)
    if not len(step):
        raise DataInvalid(f"{path} has no events: cut or download it again")
    binning.add(np.zeros(len(step), np.int64), step, np.concatenate(channels), samples=1)


def _channel(
    path: Path,
    x: np.ndarray,
    y: np.ndarray,
    polarity: np.ndarray,
    place: np.ndarray,
    unit: str,
    data: DVSGestureData,
) -> np.ndarray:
    """Int32 `[events]`. `place`, in `unit`s, is where in the file an event is."""
    fits = (x >= 0) & (x < SIDE) & (y >= 0) & (y < SIDE) & (polarity >= 0) & (polarity <= 1)
    if not fits.all():
        at = int(np.flatnonzero(~fits)[0])
        raise DataInvalid(
            f"{path}: the event at {unit} {place[at]:,} is at pixel ({x[at]:g}, {y[at]:g}) with "
            f"polarity {polarity[at]:g}; there are {SIDE} x {SIDE} x 2"
        )
    merged = data.pixels_merged
    row = polarity.astype(np.int32) * (SIDE // merged) + y.astype(np.int32) // merged
    channel: np.ndarray = row * (SIDE // merged) + x.astype(np.int32) // merged
    return channel
