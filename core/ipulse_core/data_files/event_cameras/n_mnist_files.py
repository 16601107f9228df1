"""The files of N-MNIST: one .bin file per sample in a folder of its class, five bytes per event."""

from __future__ import annotations

from pathlib import Path
from typing import List, Tuple

import numpy as np

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.errors import DataInvalid, DataUnavailable
from ipulse_core.spec import derived_values

CLASSES = derived_values.CLASSES["n_mnist"]
SIDE = derived_values.N_MNIST_SIDE  # pixels
EVENT_BYTES = 5
MAX_BYTES = 2**26  # of one sample's file; the published ones have some ten thousand
OVERFLOW_Y = 240  # marks an overflow of the time stamps instead of an event
OVERFLOW_US = 2**13
HINT = (
    "put N-MNIST's folders Train and Test there, unpacked, each with folders 0 to 9 of .bin files"
)


def listed(directory: DataDirectory, name: str, part: str) -> List[Tuple[Path, int]]:
    """Return the files of one part with their labels.

    Raises:
        DataUnavailable: there is none.
    """
    files = [
        (path, label)
        for label in range(CLASSES)
        for path in directory.files(name, part, str(label), suffix=".bin", hint=HINT)
    ]
    if not files:
        raise DataUnavailable(
            f"there are no .bin files in {directory.folder(name, part, hint=HINT)}: {HINT}"
        )
    return files


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
