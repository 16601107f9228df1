"""What is written: results on standard output, remarks on standard error.

Names and messages of jobs come from elsewhere, so nothing in them may command the terminal.
"""

from __future__ import annotations

import json
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
    return _Terminal(highlight=False, markup=False, emoji=False)


def remarks() -> Console:
    """Standard error, for what is no result."""
    return _Terminal(stderr=True, highlight=False, markup=False, emoji=False)


def write(output: Console, line: str, style: str = "") -> None:
    """A line on a console, as long as it is: a file has no edge at which to break it."""
    output.print(Text(line, style=style), soft_wrap=True)


def show(text: str = "", style: str = "") -> None:
    """A line of the result."""
    write(console(), clean(text), style)


def say(text: str, style: str = "") -> None:
    """A line beside the result."""
    write(remarks(), clean(text), style)


def emit(value: Any, indent: int = 2) -> None:
    """The result as JSON; `indent=0` keeps it on one line."""
    text = json.dumps(value, indent=indent or None, allow_nan=False)
    try:
        print(text, flush=True)  # noqa: T201  # to nobody where standard output is closed
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
        line = Text.assemble((name.ljust(width + 2), "dim"), clean(value))
        console().print(line, soft_wrap=True)


def size_text(number: float) -> str:
    """Bytes in binary units: 512 bytes, 98.5 KiB, 2.0 GiB."""
    if number < 1024:
        return f"{number:.0f} bytes"
    for unit in ("KiB", "MiB"):
        number /= 1024
        if number < 1024:
            return f"{number:.1f} {unit}"
    return f"{number / 1024:,.1f} GiB"


def clean(text: str) -> str:
    """The text with every character that is not to be seen written as an escape."""
    return "".join(
        one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode()
        for one in text.replace("\t", "    ")
    )
