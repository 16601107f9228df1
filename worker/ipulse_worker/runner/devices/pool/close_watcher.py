"""Hears when a file in a directory that was open for writing is closed.

Whoever closes it: the process that opened it, or the kernel at the end of that process, however
it came. That is what a lock's release looks like from outside, and it needs no polling.
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
    """Listens from its making on; where the kernel has no watch left, it hears nothing."""

    def __init__(self, directories: Sequence[Path]) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            return  # the limit of instances: the caller's deadlines serve instead
        for directory in directories:
            library.inotify_add_watch(
                self._descriptor, ctypes.c_char_p(os.fsencode(directory)), _IN_CLOSE_WRITE
            )

    def wait(self, seconds: float) -> bool:
        """Whether a file was closed, now or since the last call, within so many seconds."""
        poll = select.poll()
        if self._descriptor >= 0:
            poll.register(self._descriptor, select.POLLIN)
        heard = bool(poll.poll(max(0.0, seconds) * 1000))
        if heard:
            self._forget()
        return heard

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> CloseWatcher:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _forget(self) -> None:
        while True:
            try:
                os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                return
