"""Samples as rows of a CSV file: one row per event, in any order.

The first line names the columns: `sample`, `time_ms`, `channel`, `label` and, if the file defines
the test set, `test` (0 or 1). All rows of a sample have the same label.
"""

from __future__ import annotations

import csv
import math
from array import array
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence

import numpy as np

from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.sample_file import (
    MAX_CLASSES,
    MAX_SAMPLES,
    EventBlock,
    SampleFile,
)
from ipulse_core.limits import MAX_CHANNELS

MAX_BYTES = 2**28
COLUMNS = ("sample", "time_ms", "channel", "label")
TEST = "test"
_LIMITS = {"sample": MAX_SAMPLES, "channel": MAX_CHANNELS, "label": MAX_CLASSES, TEST: 2}


def is_header(line: str) -> bool:
    """Return whether a file that begins with this line is one of these."""
    return set(COLUMNS) <= {name.strip() for name in line.split(",")}


@contextmanager
def opened_csv_samples(path: Path) -> Iterator[SampleFile]:
    """Read a file.

    Raises:
        DataInvalid: it has another format; the message names the line.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise DataInvalid(
            f"{path} has {size:,} bytes; at most {MAX_BYTES:,} of CSV are read: write larger data "
            "as npz or HDF5"
        )
    columns = _read(path)
    sample = columns["sample"]
    labels = _of_samples(path, sample, columns["label"], "label")
    test = None
    if TEST in columns:
        test = _of_samples(path, sample, columns[TEST], TEST).astype(bool)
        if test.all() or not test.any():
            raise DataInvalid(f"{path}: test must be 1 for some of the samples, and 0 for others")
    block = EventBlock(sample, columns["time_ms"], columns["channel"])
    yield SampleFile("events", "events", labels, test, iter([block]), iter(()))


def _read(path: Path) -> Dict[str, np.ndarray]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
            names = [name.strip() for name in next(lines, [])]
            wanted = [*COLUMNS, *([TEST] if TEST in names else [])]
            if sorted(names) != sorted(wanted):
                raise DataInvalid(
                    f"{path}, line 1: the columns must be {', '.join(COLUMNS)} and, if you like, "
                    f"{TEST}; got {', '.join(names)[:100]!a}"
                )
            return _columns(path, names, lines)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataInvalid(f"{path} is no CSV text: {error}") from error


def _columns(path: Path, names: Sequence[str], lines: Iterator[List[str]]) -> Dict[str, np.ndarray]:
    found: Dict[str, Any] = {name: array("d" if name == "time_ms" else "q") for name in names}
    parts = list(found.items())
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        try:
            if len(line) != len(parts):
                raise ValueError(f"{len(line)} columns; the first line has {len(parts)}")
            for text, (name, values) in zip(line, parts):
                if name == "time_ms":
                    time = float(text)
                    if not math.isfinite(time):
                        raise ValueError(f"{text[:20]!a} is no time")
                    values.append(time)
                    continue
                value = int(text)
                if not 0 <= value < _LIMITS[name]:
                    raise ValueError(f"{name} must be 0 to {_LIMITS[name] - 1}; got {text[:20]}")
                values.append(value)
        except ValueError as error:
            raise DataInvalid(f"{path}, line {number:,}: {error}") from error
    return {name: np.array(values) for name, values in parts}


def _of_samples(path: Path, sample: np.ndarray, value: np.ndarray, name: str) -> np.ndarray:
    """Return the value of each sample, which all of its rows must have."""
    samples = int(sample.max()) + 1 if len(sample) else 0
    if samples < 2:
        raise DataInvalid(f"{path} must have rows of at least two samples, 0 and 1")
    of_sample = np.full(samples, -1, np.int64)
    of_sample[sample] = value
    for number in np.flatnonzero(of_sample < 0)[:1]:
        raise DataInvalid(f"{path}: no row is of sample {number:,}; samples count from 0")
    for row in np.flatnonzero(of_sample[sample] != value)[:1]:
        raise DataInvalid(f"{path}: sample {sample[row]:,} has rows with different {name}s")
    return of_sample
