"""Output: results on standard output, remarks on standard error.

Control characters are escaped, because names and messages of jobs come from other people.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NoReturn

from rich.console import Console
from rich.text import Text

from ipulse.times import shown_text
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.input_files import InputFolder

from .called import as_called


class ReaderGone(Exception):
    """The reader of standard output has closed it."""


class Declined(Exception):
    """The user answered a question with no."""


class _Terminal(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise ReaderGone()


def console() -> Console:
    """Return a console for standard output."""
    return _terminal()


def remarks() -> Console:
    """Return a console for standard error."""
    return _terminal(stderr=True)


def _terminal(**options: Any) -> Console:
    if os.environ.get("NO_COLOR"):  # nor bold, which rich would leave
        options["color_system"] = None
    return _Terminal(highlight=False, markup=False, emoji=False, **options)


def write(output: Console, line: str, style: str = "") -> None:
    """Write a line to a console, without breaking it."""
    output.print(Text(line, style=style), soft_wrap=True)


def show(text: str = "", style: str = "") -> None:
    """Write a line of the result."""
    write(console(), clean(text), style)


def be_quiet(quiet: bool) -> None:
    """Leave out remarks from now on, or not; errors and warnings, which have a style, stay."""
    global _is_quiet
    _is_quiet = quiet


_is_quiet = False


def say(text: str, style: str = "") -> None:
    """Write a remark to standard error; commands in backticks are shown as they were called."""
    if _is_quiet and not style:
        return
    write(remarks(), as_called(clean(text)), style)


def say_folder(folder: InputFolder) -> None:
    """Write which links of a folder were followed and, as a warning, what of it is not sent."""
    if folder.links:
        say(folder.links_text())
    if folder.skipped:
        say(folder.skipped_text(), style="yellow")


def emit(value: Any, indent: int = 2) -> None:
    """Write the result as JSON; `indent=0` writes one line."""
    text = json.dumps(value, indent=indent or None, allow_nan=False)
    try:
        print(text, flush=True)  # noqa: T201  # works with a closed standard output, too
    except BrokenPipeError:
        raise ReaderGone() from None


def show_done(verb: str, name: str, as_json: bool) -> None:
    """Write what was done, such as "revoked", and to which item."""
    if as_json:
        emit({verb: name})
    else:
        show(f"{verb} {name}")


def show_facts(facts: Iterable[Sequence[str]]) -> None:
    """Write pairs of a name and a value, one a line; pairs with an empty value are left out."""
    rows = [(cell(name), value) for name, value in facts if value]
    width = max((len(name) for name, _ in rows), default=0) + 2
    for name, value in rows:
        # Further lines of a value are indented, so that none looks like another fact.
        indented = clean(value).replace("\n", "\n" + " " * width)
        line = Text.assemble((name.ljust(width), "dim"), indented)
        console().print(line, soft_wrap=True)


def minute_text(time: datetime) -> str:
    """Format a time in this machine's zone, with the offset and without seconds."""
    return shown_text(time)


def second_text(time: datetime) -> str:
    """Format a time in this machine's zone, with the offset, to the second."""
    return shown_text(time, seconds=True)


def jobs_text(count: int) -> str:
    """Format a number of jobs: 1 job, 1,234 jobs."""
    return "1 job" if count == 1 else f"{count:,} jobs"


def size_text(number: float) -> str:
    """Format bytes in binary units: 512 bytes, 98.5 KiB, 2.0 GiB."""
    if number < 1024:
        return f"{number:.0f} bytes"
    for unit in ("KiB", "MiB"):
        number /= 1024
        if number < 1024:
            return f"{number:.1f} {unit}"
    return f"{number / 1024:,.1f} GiB"


def last_line(output: str) -> str:
    """Return the last line that a program printed, which names its error."""
    return (output.strip() or "it printed no message").splitlines()[-1]


def clean(text: str) -> str:
    """Return the text with every character that is not printable as an escape."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text.replace("\t", "    ")
    )


def cell(text: str) -> str:
    """Return the text for one line of a table: line ends are escapes, too."""
    return clean(text).replace("\n", "\\n")


def confirm(verb: str, what: str, yes: bool) -> None:
    """Ask whether to do what cannot be undone, such as "delete" with "2 jobs".

    Raises InvalidInput, which says what would be done, where nobody can be asked, and Declined.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        detail = f"this would {verb} {what}, and nobody can be asked: add --yes"
        raise InvalidInput([Problem("/yes", "not_confirmed", detail)], detail)
    # On standard error, because standard output is for the result; --quiet leaves it, too.
    write(remarks(), clean(f"{verb} {what}? [y/N]"))
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Declined()
