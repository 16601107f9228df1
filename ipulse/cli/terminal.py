"""What is written: results on standard output, remarks on standard error.

Names and messages of jobs come from elsewhere, so nothing in them may command the terminal.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Iterable, List, NoReturn, Sequence

from rich.console import Console
from rich.text import Text


class ReaderGone(Exception):
    """Nobody reads the standard output any more."""


class _Terminal(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise ReaderGone()


def console() -> Console:
    """Standard output for people."""
    return _Terminal(highlight=False, markup=False, emoji=False, soft_wrap=True)


def remarks() -> Console:
    """Standard error, for what is no result."""
    return _Terminal(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show(text: str = "", style: str = "") -> None:
    """A line of the result."""
    console().print(Text(clean(text), style=style))


def say(text: str, style: str = "") -> None:
    """A line beside the result."""
    remarks().print(Text(clean(text), style=style))


def emit(value: Any, indent: int = 2) -> None:
    """The result as JSON; `indent=0` keeps it on one line."""
    text = json.dumps(value, indent=indent or None, allow_nan=False)
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone() from None


def show_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as they must be, never cut: an id that lost its end is of no use."""
    cells: List[List[str]] = [list(headers), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    for number, row in enumerate(cells):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        show(line, style="" if number else "bold")


def show_facts(facts: Iterable[Sequence[str]]) -> None:
    """Pairs of a name and a value, one a line; a value that is empty is left out."""
    told = [(name, value) for name, value in facts if value]
    width = max((len(name) for name, _ in told), default=0)
    for name, value in told:
        console().print(Text.assemble((name.ljust(width + 2), "dim"), clean(value)))


def clean(text: str) -> str:
    """The text with every character that is not to be seen written as an escape."""
    return "".join(
        one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode()
        for one in text.replace("\t", "    ")
    )
