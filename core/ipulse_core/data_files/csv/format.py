"""How a CSV file is written: its encoding, its separator and the line that names the columns.

Programs write comma, semicolon, tab or space, UTF-8 or UTF-16, with and without quotation marks,
capitals and comments. A form is recognised by the names of the columns; anything else is refused.
"""

from __future__ import annotations

import codecs
import csv
import re
from itertools import islice
from pathlib import Path
from typing import IO, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ipulse_core.data_files.errors import DataInvalid

COLUMNS = ("sample", "time_ms", "channel", "label")
TEST = "test"
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}
COMMENT = "#"

_MAX_LINE = 10_000  # characters of the lines up to the header
_MAX_LINES = 1000
_SIGNATURE = 2  # characters that tell text from other formats
_QUOTED = 100  # characters of a header in a message
# UTF-32 begins with the mark of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SEPARATOR_LINE = re.compile(r"sep=(.)", re.IGNORECASE)  # of spreadsheets


class CSVFormat(NamedTuple):
    """The form of a file."""

    encoding: str
    separator: str
    line: int  # number of the line that names the columns
    names: List[str]  # of the columns, in lower case

    @property
    def separator_name(self) -> str:
        """The separator in words."""
        return SEPARATORS.get(self.separator, self.separator)


def is_text(begin: bytes) -> bool:
    """Return whether a file that begins so is text, and not another format."""
    text = begin.decode(_encoding(begin), "replace")
    return bool(text) and "\ufffd" not in text[:_SIGNATURE] and not _CONTROL.search(text)


def format_of(path: Path) -> CSVFormat:
    """Find how a file is written.

    Raises:
        DataInvalid: no line names the columns; the message quotes the header and the separator.
    """
    with path.open("rb") as content:
        encoding = _encoding(content.read(4))
    with opened_text(path, encoding) as file:
        number, line, comment, separators = _first_line(file)
    candidates = [(number, line)]
    if comment is not None:  # as NumPy writes the header
        candidates.append(comment)
    for number_of_line, text in candidates:
        for separator in separators:
            names = _names(text, separator)
            if set(COLUMNS) <= set(names):
                if sorted(names) not in (sorted(COLUMNS), sorted([*COLUMNS, TEST])):
                    raise _refused(path, number_of_line, text, separator)
                return CSVFormat(encoding, separator, number_of_line, names)
    counts = {separator: line.count(separator) for separator in SEPARATORS}
    most = max(counts, key=lambda separator: counts[separator])
    raise _refused(path, number, line, most if counts[most] else None)


def opened_text(path: Path, encoding: str) -> IO[str]:
    """Open a file; bytes that are no text become characters that no number has."""
    errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
    return path.open(encoding=encoding, errors=errors, newline="")


def rows(lines: Iterator[str], separator: str) -> Iterator[List[str]]:
    """Yield the cells of each line. Raises csv.Error."""
    given = (line.strip() for line in lines) if separator == " " else lines
    return csv.reader(given, delimiter=separator, skipinitialspace=True, strict=True)


def _encoding(begin: bytes) -> str:
    for mark, encoding in _MARKS:
        if begin.startswith(mark):
            return encoding
    if begin[1:2] == b"\0":  # ASCII in two bytes, without a mark
        return "utf-16-le"
    return "utf-16-be" if begin[:1] == b"\0" else "utf-8-sig"


def _first_line(
    file: IO[str],
) -> Tuple[int, str, Optional[Tuple[int, str]], Sequence[str]]:
    """Return the first line that is no comment, the last comment before it, and separators."""
    comment: Optional[Tuple[int, str]] = None
    separators: Sequence[str] = tuple(SEPARATORS)
    lines = iter(lambda: file.readline(_MAX_LINE), "")
    for number, line in enumerate(islice(lines, _MAX_LINES), 1):
        text = line.strip()
        stated = _SEPARATOR_LINE.fullmatch(line.strip("\r\n"))
        if stated:
            separators = (stated[1],)
        elif text.startswith(COMMENT):
            comment = (number, text.lstrip(f"{COMMENT} "))
        elif text:
            return number, text, comment, separators
    return 1, "", comment, separators


def _names(line: str, separator: str) -> List[str]:
    try:
        cells = next(rows(iter([line]), separator), [])
    except csv.Error:
        return []
    return [cell.strip().lower() for cell in cells]


def _refused(path: Path, number: int, line: str, separator: Optional[str]) -> DataInvalid:
    found = SEPARATORS.get(separator, separator) if separator else "none"
    return DataInvalid(
        f"{path}, line {number:,}: text is read as CSV, which has a first line with the columns "
        f"{', '.join(COLUMNS)} and, if you like, {TEST}, and no others; found the header "
        f"{line[:_QUOTED]!a} (separator: {found}). If it is no CSV, it is none of these: npz; "
        "HDF5; zip or tar archive"
    )
