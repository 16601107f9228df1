"""The lists of recordings and the tables of gestures of DVS128 Gesture."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import List, Tuple

from ipulse_core.data_files.errors import DataInvalid

MAX_BYTES = 2**20  # of a list or a table


def names_in(listed: Path) -> List[str]:
    """Return the names in a list of recordings."""
    names = _text(listed).split()
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
