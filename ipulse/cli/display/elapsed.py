"""A line that shows for how long something takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ipulse.cli.terminal import write

from .progress import duration

FRAMES_PER_SECOND = 4


@contextmanager
def elapsed(text: str, output: Console) -> Iterator[None]:
    """Show the text while the context runs; on a terminal also the growing time."""
    if not output.is_terminal:
        write(output, f"{text} ...")
        yield
        return
    began = time.monotonic()

    def line() -> Text:
        return Text(f"{text} ... {duration(time.monotonic() - began)}")

    with Live(get_renderable=line, console=output, refresh_per_second=FRAMES_PER_SECOND):
        yield
