"""The files of DVS128 Gesture: AEDAT recordings with tables of gestures, or cut into npy files."""

from __future__ import annotations

import csv
import re
from itertools import takewhile
from pathlib import Path
from typing import Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np

from ipulse_core.data_files.directory import COMPANION, DataDirectory
from ipulse_core.data_files.errors import DataInvalid, DataUnavailable
from ipulse_core.data_files.event_cameras.aedat import pixel_events
from ipulse_core.data_sets import LAYOUTS
from ipulse_core.spec import derived_values

CLASSES = derived_values.CLASSES["dvs_gesture"]
SIDE = derived_values.DVS_GESTURE_SIDE  # pixels
# Lists of the names of recordings; or folders of recordings, each a folder of CLASS.npy.
LISTS, CUT = LAYOUTS["dvs_gesture"]
ROWS_AT_ONCE = 2**20  # of an npy file
MAX_BYTES = 2**20  # of a list or a table
HINT = (
    f"put there either the published recordings ({' and '.join(LISTS)}, *.aedat and *_labels.csv) "
    f"or the cut samples ({' and '.join(CUT)} with folders of npy files, 0.npy to 10.npy)"
)


def names_in(listed: Path) -> List[str]:
    """Return the names in a list of recordings; a word that begins with # begins a comment."""
    names: List[str] = []
    for line in _text(listed).splitlines():
        names += takewhile(lambda word: not word.startswith("#"), line.split())
    for number, name in enumerate(names):
        if name in names[:number]:
            raise DataInvalid(
                f"{listed} names {name} twice, as entries {names.index(name) + 1} and "
                f"{number + 1}: name each recording once"
            )
    return names


def labels_in(table: Path, classes: int) -> List[Tuple[int, int, int]]:
    """Return (label, begin, end) of every gesture of a recording, in order of time."""
    rows = []
    for number, row in enumerate(csv.reader(_text(table).splitlines()), start=1):
        if not row or (number == 1 and not row[0].strip().isdigit()):
            continue  # the names of the columns
        try:
            gesture, begin, end = (int(cell) for cell in row)
        except ValueError as error:
            raise DataInvalid(
                f"{table}, line {number}: must be class,start,end in microseconds"
            ) from error
        if not (1 <= gesture <= classes and 0 <= begin < end):
            raise DataInvalid(
                f"{table}, line {number}: no gesture {gesture} from {begin} to {end}; they are 1 "
                f"to {classes}"
            )
        rows.append((gesture - 1, begin, end))
    rows.sort(key=lambda row: row[1])
    for (_, _, end), (_, begin, _) in zip(rows, rows[1:]):
        if begin < end:
            raise DataInvalid(f"{table}: the gestures that begin and end at {begin} us overlap")
    return rows


def _text(path: Path) -> str:
    if path.stat().st_size > MAX_BYTES:
        raise DataInvalid(f"{path} is larger than {MAX_BYTES:,} bytes")
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataInvalid(f"{path} is not text: {error}") from error


class Gesture(NamedTuple):
    """The place of one sample in its file."""

    path: Path
    label: int
    begin_us: int  # within the recording; a cut sample is all of its file
    end_us: int


class GestureEvents(NamedTuple):
    """Events of gestures of one file, arrays `[events]`."""

    gesture: np.ndarray  # index of the gesture among those that were asked for
    time: np.ndarray  # since its begin, in microseconds, or milliseconds for a cut sample
    channel: np.ndarray  # int32


def gestures_in(directory: DataDirectory, name: str) -> List[List[Gesture]]:
    """Return the gestures to learn from and those to test, in the order of the lists or names.

    Raises:
        DataUnavailable: something is missing.
        DataInvalid: a list, a table or a name is wrong.
    """
    folder = directory.folder(name, hint=HINT)
    if directory.has(name, LISTS[0]):
        parts = [_recorded(directory, name, listed) for listed in LISTS]
        _check_disjoint(parts[0], parts[1], LISTS)
    elif directory.has(name, CUT[0]):
        parts = [_cut(directory, name, part) for part in CUT]
        _check_disjoint(parts[0], parts[1], CUT)
    else:
        raise DataUnavailable(f"neither {LISTS[0]} nor {CUT[0]} is in {folder}: {HINT}")
    for gestures, purpose in zip(parts, ("to learn from", "to test")):
        if not gestures:
            raise DataUnavailable(f"there are no gestures {purpose} in {name}: {HINT}")
    return parts


def by_file(gestures: Sequence[Gesture]) -> List[Tuple[Path, List[Gesture]]]:
    """Group gestures of the same file."""
    runs: List[Tuple[Path, List[Gesture]]] = []
    for gesture in gestures:
        if not runs or runs[-1][0] != gesture.path:
            runs.append((gesture.path, []))
        runs[-1][1].append(gesture)
    return runs


def recorded_events(
    path: Path, gestures: Sequence[Gesture], pixels_merged: int
) -> Iterator[GestureEvents]:
    """Yield the events of gestures that are in order of time and do not overlap.

    Raises:
        DataInvalid: the recording is damaged, or a gesture has no event.
    """
    begins = np.array([gesture.begin_us for gesture in gestures])
    ends = np.array([gesture.end_us for gesture in gestures])
    found = np.zeros(len(gestures), np.int64)
    for events in pixel_events(path):
        channel = _channel(
            path, events.x, events.y, events.polarity, events.offset, "byte", pixels_merged
        )
        sample = np.searchsorted(begins, events.time_us, side="right") - 1
        inside = (sample >= 0) & (events.time_us < ends[sample])
        sample = sample[inside]
        found += np.bincount(sample, minlength=len(gestures))
        yield GestureEvents(sample, events.time_us[inside] - begins[sample], channel[inside])
    for at in np.flatnonzero(found == 0)[:1]:
        raise DataInvalid(
            f"{path} has no event from {gestures[at].begin_us} to {gestures[at].end_us} us, where "
            "its table has a gesture; is it whole?"
        )


def cut_events(path: Path, pixels_merged: int) -> Iterator[GestureEvents]:
    """Yield the events of an array `[events, 4]` of x, y, polarity and time in milliseconds.

    Raises:
        DataInvalid: the file is damaged, has another array, or no event.
    """
    try:
        rows = np.load(str(path), mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataInvalid(f"{path} cannot be read as npy; is it whole? {error}") from error
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.shape[1] != 4:
        raise DataInvalid(f"{path} must hold one array [events, 4] of x, y, polarity, time in ms")
    if rows.dtype.kind not in "iuf":
        raise DataInvalid(f"{path} must hold numbers")
    if not len(rows):
        raise DataInvalid(f"{path} has no events: cut or download it again")
    for first in range(0, len(rows), ROWS_AT_ONCE):
        chunk = np.asarray(rows[first : first + ROWS_AT_ONCE])
        x, y, polarity = chunk[:, :3].astype(np.float64).T
        time_ms = chunk[:, 3]
        number = first + np.arange(len(x))
        channel = _channel(path, x, y, polarity, number, "event", pixels_merged)
        if not np.isfinite(time_ms).all():
            at = number[np.flatnonzero(~np.isfinite(time_ms))[0]]
            raise DataInvalid(f"{path}: event {at:,} has a time that is no time")
        yield GestureEvents(np.zeros(len(x), np.int64), time_ms, channel)


def _recorded(directory: DataDirectory, name: str, listed: str) -> List[Gesture]:
    """Return the gestures of the recordings in a list."""
    gestures = []
    for entry in names_in(directory.file(name, listed, hint=HINT)):
        path = directory.file(name, entry, hint=HINT)
        if path.suffix != ".aedat":
            raise DataInvalid(f"{listed} names {entry}, which is no .aedat file")
        table = directory.file(name, f"{path.stem}_labels.csv", hint=HINT)
        gestures += [Gesture(path, *row) for row in labels_in(table, CLASSES)]
    return gestures


def _check_disjoint(
    training: Sequence[Gesture], test: Sequence[Gesture], places: Sequence[str]
) -> None:
    """Raise DataInvalid if a recording is for both; a cut one is known by its folder's name."""
    tested = {_recording(gesture) for gesture in test}
    for gesture in training:
        recording = _recording(gesture)
        if recording in tested:
            raise DataInvalid(
                f"{recording} is in {places[0]} and in {places[1]}, next to it: a recording is "
                "either for training or for the test"
            )


def _recording(gesture: Gesture) -> str:
    path = gesture.path
    return path.parent.name if path.suffix == ".npy" else path.name


def _cut(directory: DataDirectory, name: str, part: str) -> List[Gesture]:
    """Return the cut samples of one folder, by recording and class."""
    gestures = []
    for folder in sorted(directory.folder(name, part, hint=HINT).iterdir()):
        if not folder.is_dir():
            continue
        for label in range(CLASSES):
            if directory.has(name, part, folder.name, f"{label}.npy"):
                path = directory.file(name, part, folder.name, f"{label}.npy", hint=HINT)
                gestures.append(Gesture(path, label, 0, 0))
        for path in folder.iterdir():
            is_sample = path.suffix == ".npy" and not path.name.startswith(COMPANION)
            if is_sample and not re.fullmatch(r"10|[0-9]", path.stem):
                raise DataInvalid(f"{path}: the name must be the class, 0 to {CLASSES - 1}")
    return gestures


def _channel(
    path: Path,
    x: np.ndarray,
    y: np.ndarray,
    polarity: np.ndarray,
    place: np.ndarray,
    unit: str,
    merged: int,
) -> np.ndarray:
    """Int32 `[events]`. `place`, in `unit`s, is where in the file an event is."""
    fits = (x >= 0) & (x < SIDE) & (y >= 0) & (y < SIDE) & (polarity >= 0) & (polarity <= 1)
    if not fits.all():
        at = int(np.flatnonzero(~fits)[0])
        raise DataInvalid(
            f"{path}: the event at {unit} {place[at]:,} is at pixel ({x[at]:g}, {y[at]:g}) with "
            f"polarity {polarity[at]:g}; there are {SIDE} x {SIDE} x 2"
        )
    row = polarity.astype(np.int32) * (SIDE // merged) + y.astype(np.int32) // merged
    channel: np.ndarray = row * (SIDE // merged) + x.astype(np.int32) // merged
    return channel
