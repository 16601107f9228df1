"""Waits until a file in a directory that was open for writing is closed (inotify).

The process that opened the file closes it, or the kernel does at the end of that process. Each
closing may release a lock, so waiting for one needs no polling.
"""

from __future__ import annotations

import ctypes
import os
import select
from pathlib import Path
from typing import Any, Sequence

_IN_CLOSE_WRITE = 0x8  # of <sys/inotify.h>
_READ_BYTES = 4096


class CloseWatcher:
    """Watches directories from its creation; without free kernel watches it reports nothing."""

    def __init__(self, directories: Sequence[Path]) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            return  # too many instances: the caller then polls by its deadline
        for directory in directories:
            library.inotify_add_watch(
                self._descriptor, ctypes.c_char_p(os.fsencode(directory)), _IN_CLOSE_WRITE
            )

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether a file was closed since the last call."""
        poll = select.poll()
        if self._descriptor >= 0:
            poll.register(self._descriptor, select.POLLIN)
        closed = bool(poll.poll(max(0.0, seconds) * 1000))
        if closed:
            self._discard_events()
        return closed

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> CloseWatcher:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _discard_events(self) -> None:
        while True:
            try:
                os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                return
