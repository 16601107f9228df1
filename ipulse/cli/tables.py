"""Tables on standard output, which fit the width of a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from .terminal import cell, console, emit, say, show

LEAST = 8  # characters that a cut column keeps
LEAST_DIGITS = 6  # of a digest, which commands accept instead of the whole one
_GAP = 2  # spaces between columns
# Commands accept the first digits of these: ids of jobs and sweeps, digests.
_LONG = re.compile(r"\b((?:job|swp)_[0-9a-f]{8})[0-9a-f]{16}\b|\b([0-9a-f]{12})[0-9a-f]{52}\b")
_DIGEST = re.compile(rf"@sha256:[0-9a-f]{{{LEAST_DIGITS}}}")
_TIMES = frozenset({"CREATED", "EXPIRES", "LAST SEEN", "PUSHED", "SINCE"})


def show_list(
    name: str,
    documents: Sequence[Any],
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    as_json: bool,
    wide: bool = False,
) -> None:
    """Write items: their JSON under a name, or a table with a row for each."""
    if as_json:
        emit({name: documents})
    else:
        show_table(headers, rows, wide)


def show_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    wide: bool = False,
    *,
    spare: Sequence[int] = (),
    how_to_see: str = "--wide shows all",
) -> None:
    """Write a table; on a terminal that is too narrow it is cut, unless `wide`.

    First cells are cut. If that is not enough, columns of `spare` are left out, in this order, and
    a remark names them and says `how_to_see` them.
    """
    cells: list[list[str]] = [list(headers), *(list(map(cell, row)) for row in rows)]
    left_out: list[str] = []
    if sys.stdout.isatty() and not wide:
        cells, left_out = narrowed(cells, console().width, spare)
    widths = _widths(cells)
    for number, row in enumerate(cells):
        padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        line = (" " * _GAP).join(padded).rstrip()
        show(line, style="" if number else "bold")
    if left_out:
        names = ", ".join(left_out)
        say(f"{len(left_out)} of {len(headers)} columns do not fit ({names}): {how_to_see}")


def narrowed(
    cells: Sequence[Sequence[str]], width: int, spare: Sequence[int]
) -> tuple[list[list[str]], list[str]]:
    """Return a table that fits a width if it can, and the headers of columns it leaves out."""
    for count in range(len(spare) + 1):
        gone = set(spare[:count])
        kept = fitted([[t for n, t in enumerate(row) if n not in gone] for row in cells], width)
        if _total(_widths(kept)) <= width:
            break
    return kept, [cells[0][number] for number in sorted(gone)]


def least_varied_first(rows: Sequence[Sequence[str]], columns: Iterable[int]) -> list[int]:
    """Return columns, those with the fewest different values first, and the last ones of equals."""
    return sorted(columns, key=lambda column: (len({row[column] for row in rows}), -column))


def fitted(cells: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Return a table, of which the first row is the headers, that fits a width if it can.

    Ids and digests are shortened to prefixes that commands accept, then the widest texts are cut
    and end with a mark. Times and the ids of tokens are never cut, and a digest keeps as many
    digits as commands need.
    """
    rows = [list(row) for row in cells]
    if _total(_widths(rows)) > width:
        rows = [
            [_LONG.sub(lambda match: match[1] or match[2], text) for text in row] for row in rows
        ]
    headers = rows[0]
    cut = [n for n, header in enumerate(headers) if header.upper() not in {*_TIMES, "ID"}]
    widths = _widths(rows)
    least = [_least(column) for column in zip(*rows, strict=True)]
    while _total(widths) > width:
        cut = [n for n in cut if widths[n] > least[n]]
        if not cut:
            break
        widths[max(cut, key=lambda n: widths[n])] -= 1
    return [[_cut(text, width) for text, width in zip(row, widths, strict=True)] for row in rows]


def _least(column: Sequence[str]) -> int:
    """Return the least width of a column, which begins with its header."""
    digests = [match.end() + 1 for text in column if (match := _DIGEST.search(text))]
    return max(LEAST, len(column[0]), *digests)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _total(widths: Sequence[int]) -> int:
    """Return the width of a table with these columns."""
    return sum(widths) + _GAP * (len(widths) - 1)
