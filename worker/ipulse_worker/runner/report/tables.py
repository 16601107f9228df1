"""Tables of the report as data; templates/macros.html renders them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence, Union


@dataclass(frozen=True)
class Cell:
    """A cell with more than a text."""

    text: str
    colour: Optional[int] = None  # of a mark before the text that refers to a part of a plot
    fraction: Optional[float] = None  # from 0 to 1, drawn as a small bar after the text
    is_indented: bool = False


@dataclass(frozen=True)
class ReportTable:
    """Column heads and rows; all columns except the first are aligned right by default."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Union[str, Cell]]]
    text_columns: Sequence[int] = ()  # numbers of columns that are aligned left and may wrap
    has_sum: bool = False  # whether the last row is the sum of the others
