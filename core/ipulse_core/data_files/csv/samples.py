"""Samples as rows of a CSV file: one row per event, in any order.

A line names the columns: `sample`, `time_ms`, `channel`, `label` and, if the file defines the test
set, `test` (0 or 1). All rows of a sample have the same label.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Dict, Iterator

import numpy as np

from ipulse_core.data_files.csv.format import COMMENT, TEST, CSVFormat, format_of, opened_text, rows
from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.sample_file import (
    MAX_CLASSES,
    MAX_SAMPLES,
    EventBlock,
    SampleFile,
)
from ipulse_core.limits import MAX_CHANNELS

MAX_BYTES = 2**28
_LIMITS = {"sample": MAX_SAMPLES, "channel": MAX_CHANNELS, "label": MAX_CLASSES, TEST: 2}
_SHOWN = 20  # characters of a cell in a message
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # or a decimal comma


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
    form = format_of(path)
    with opened_text(path, form.encoding) as file:
        columns = _Columns(path, form).read(file)
    sample = columns["sample"]
    labels = _of_samples(path, sample, columns["label"], "label")
    test = None
    if TEST in columns:
        test = _of_samples(path, sample, columns[TEST], TEST).astype(bool)
        if test.all() or not test.any():
            raise DataInvalid(f"{path}: test must be 1 for some of the samples, and 0 for others")
    block = EventBlock(sample, columns["time_ms"], columns["channel"])
    yield SampleFile("events", "events", labels, test, iter([block]), iter(()))


class _Columns:
    """Reads the rows of a file into one array per column."""

    def __init__(self, path: Path, form: CSVFormat) -> None:
        self._path = path
        self._form = form
        self._line = 0  # that was read last
        self._points = 0  # the first line with a decimal point, and with a decimal comma
        self._commas = 0
        self._is_sure = False  # whether a comma cannot divide thousands

    def read(self, file: IO[str]) -> Dict[str, np.ndarray]:
        """Read all rows. Raises DataInvalid with the line."""
        names = self._form.names
        found: Dict[str, Any] = {name: array("d" if name == "time_ms" else "q") for name in names}
        parts = list(found.items())
        try:
            for cells in rows(self._lines(file), self._form.separator):
                if not any(cells):  # a line without content
                    continue
                if len(cells) != len(parts):
                    raise self._wrong(
                        f"it has {len(cells)} cells; the header has {len(parts)} (separator: "
                        f"{self._form.separator_name})"
                    )
                for text, (name, values) in zip(cells, parts):
                    if name == "time_ms":
                        values.append(self._number(name, text))
                    else:
                        values.append(self._integer(name, text))
        except csv.Error as error:
            what = "it cannot be divided into cells: is a quotation mark missing?"
            raise self._wrong(what) from error
        self._check_commas()
        return {name: np.array(values) for name, values in parts}

    def _lines(self, file: IO[str]) -> Iterator[str]:
        """Yield the lines below the header that are no comments."""
        for number, line in enumerate(file, 1):
            if number > self._form.line and not line.startswith(COMMENT):
                self._line = number
                yield line

    def _integer(self, name: str, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            number = self._number(name, text)
            if not number.is_integer():
                raise self._wrong(f"{name} must be a whole number; got {text[:_SHOWN]!a}") from None
            value = int(number)
        if not 0 <= value < _LIMITS[name]:
            raise self._wrong(
                f"{name} must be 0 to {_LIMITS[name] - 1}; got {text.strip()[:_SHOWN]!a}"
            )
        return value

    def _number(self, name: str, text: str) -> float:
        try:
            number = float(text)
            if "." in text and not self._points:
                self._points = self._line
        except ValueError:
            number = self._with_comma(name, text.strip())
        if not math.isfinite(number):
            raise self._wrong(f"{name} must be a finite number; got {text[:_SHOWN]!a}")
        return number

    def _with_comma(self, name: str, text: str) -> float:
        """Return a number with a decimal comma, which no file has that separates by commas."""
        if self._form.separator == "," or not _DECIMAL_COMMA.fullmatch(text):
            raise self._wrong(
                f"{name} must be a number such as 0.25; got {text[:_SHOWN]!a} (separator: "
                f"{self._form.separator_name})"
            )
        self._commas = self._commas or self._line
        self._is_sure = self._is_sure or not _THOUSANDS.fullmatch(text)
        return float(text.replace(",", "."))

    def _check_commas(self) -> None:
        """Raise DataInvalid unless commas can only be decimal ones."""
        if self._commas and self._points:
            raise self._wrong(
                f"a number has a decimal comma, and one in line {self._points:,} a decimal point: "
                "write all numbers in one way",
                self._commas,
            )
        if self._commas and not self._is_sure:
            raise self._wrong(
                "each comma may be a decimal one or divide thousands: write numbers as 0.25",
                self._commas,
            )

    def _wrong(self, detail: str, line: int = 0) -> DataInvalid:
        return DataInvalid(f"{self._path}, line {line or self._line:,}: {detail}")


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
