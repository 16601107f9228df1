"""N-MNIST from its folders: one .bin file per sample, five bytes per event."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, List, Tuple

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
from ipulse_worker.runner.data.directory import DataDirectory

if TYPE_CHECKING:
    from ipulse.spec import NMNISTData

SIDE = 34  # pixels
EVENT_BYTES = 5
MAX_BYTES = 2**26  # of one sample's file; the published ones have some ten thousand
OVERFLOW_Y = 240  # marks an overflow of the time stamps instead of an event
OVERFLOW_US = 2**13
FILES_AT_ONCE = 256
HINT = (
    "put N-MNIST's folders Train and Test there, unpacked, each with folders 0 to 9 of .bin files"
)


def load(data: NMNISTData, directory: DataDirectory, progress: LoadProgress) -> Dataset:
    """The samples of Train, then those of Test, each by class and then by the file's name.

    Raises DataUnavailable where something is missing, DataInvalid where a file is damaged.
    """
    parts = [_listed(data, directory, part) for part in LAYOUTS["n_mnist"][0]]
    binning = Binning(
        data.steps, input_channels(data), data.capacity, data.subset_seed, data.step_ms
    )
    files = [entry for part in parts for entry in part]
    for first in range(0, len(files), FILES_AT_ONCE):
        chunk = [events(path) for path, _ in files[first : first + FILES_AT_ONCE]]
        time_us = np.concatenate([times for times, _ in chunk])
        binning.add(
            np.repeat(np.arange(len(chunk)), [len(times) for times, _ in chunk]),
            binning.step_of(time_us, data.name, per_ms=1000.0),
            np.concatenate([channels for _, channels in chunk]),
            samples=len(chunk),
        )
        progress(binning.samples, len(files))
    is_test = np.repeat([False, True], [len(part) for part in parts])
    return divided(binning, np.array([label for _, label in files]), is_test)


def events(path: Path) -> Tuple[np.ndarray, np.ndarray]:
    """Times in microseconds and channels, int64 `[events]`, of one file.

    An event is x, y, then polarity in the highest of 24 bits and the time in the others. Raises
    DataInvalid, with the offset in bytes, for what is no event.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise DataInvalid(f"{path} has {size:,} bytes; a sample has at most {MAX_BYTES:,}")
    content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    if not len(content):
        raise DataInvalid(f"{path} is empty (0 bytes): unpack or download it again")
    rest = len(content) % EVENT_BYTES
    if rest:
        raise DataInvalid(
            f"{path} is cut short: at byte {len(content) - rest:,} begins an event of "
            f"{EVENT_BYTES} bytes, and {rest} are left"
        )
    x, y, high, middle, low = content.reshape(-1, EVENT_BYTES).T.astype(np.int64)
    is_overflow = y == OVERFLOW_Y
    outside = np.flatnonzero(~is_overflow & ((x >= SIDE) | (y >= SIDE)))
    if len(outside):
        at = outside[0]
        raise DataInvalid(
            f"{path}: the event at byte {at * EVENT_BYTES:,} is at pixel ({x[at]}, {y[at]}); there "
            f"are {SIDE} x {SIDE}"
        )
    time_us = (high & 0x7F) << 16 | middle << 8 | low
    time_us = time_us + OVERFLOW_US * np.cumsum(is_overflow)
    channel = ((high >> 7) * SIDE + y) * SIDE + x
    return time_us[~is_overflow], channel[~is_overflow]


def _listed(data: NMNISTData, directory: DataDirectory, part: str) -> List[Tuple[Path, int]]:
    """Return the files of one part that are used, with their labels."""
    files = [
        (path, label)
        for label in range(class_count(data))
        for path in directory.files(data.name, part, str(label), suffix=".bin", hint=HINT)
    ]
    if not files:
        raise DataUnavailable(
            f"there are no .bin files in {directory.folder(data.name, part, hint=HINT)}: {HINT}"
        )
    return [files[at] for at in subset(len(files), data.samples, data.subset_seed)]
