"""The progress of an upload, on one line of a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ipulse.cli.terminal import remarks, size_text

if TYPE_CHECKING:
    from ipulse.client.datasets.resources import UploadProgress

_SECONDS = 0.1  # between two changes of the line


@contextmanager
def upload_progress() -> Iterator[UploadProgress | None]:
    """Yield a function that keeps a line with the progress on a terminal."""
    output = remarks()
    if not output.is_terminal:
        yield None
        return
    began, shown = time.monotonic(), 0.0
    with output.status("hashing ...") as status:

        def on_progress(sent: int, size: int) -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown < _SECONDS and sent < size:
                return
            shown = now
            rate = size_text(sent / max(now - began, 1e-3))
            percent = 100 * sent // max(size, 1)
            text = f"{size_text(sent)} of {size_text(size)} ({percent} %, {rate}/s)"
            status.update(f"{text}; checking ..." if sent >= size else text)

        yield on_progress
