"""A thread that repeats a task, for the background work of service and agent."""

from __future__ import annotations

import logging
import threading
from typing import Callable, Optional

from ipulse_core.errors import Unavailable

RETRY_SECONDS = 1.0

_log = logging.getLogger(__name__)


class RepeatingThread:
    """Takes turns until it is stopped; a turn that fails is logged, and the next one comes later.

    The log has `NAME_waits` for a turn that raised Unavailable, and `NAME_failed` with a traceback
    for any other error.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[], Optional[float]],
        *,
        first_pause: float = 0.0,
        retry_seconds: Optional[float] = RETRY_SECONDS,
        is_daemon: bool = False,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare the thread.

        Args:
            name: of the thread, and of its troubles in the log.
            turn: does the work once. It returns the seconds until the next turn, which `wake`
                shortens, or None to end the thread.
            first_pause: seconds before the first turn.
            retry_seconds: after a turn that failed; None: it was the last.
            is_daemon: whether the program may exit while the thread runs.
            on_end: called in the thread when it ends, for whatever reason.
        """
        self._name = name
        self._turn = turn
        self._first_pause = first_pause
        self._retry_seconds = retry_seconds
        self._on_end = on_end
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=is_daemon)

    @property
    def is_alive(self) -> bool:
        """True while the thread runs."""
        return self._thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        """Whether the thread was told to end, for turns that take long."""
        return self._stopping.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Take the next turn now; if one is under way, right after it."""
        self._woken.set()

    def sleep(self, seconds: float) -> bool:
        """Wait within a turn. Return early, with True, if the thread is told to end."""
        return self._stopping.wait(seconds)

    def sleep_until_woken(self, seconds: float) -> bool:
        """Wait within a turn. Return early, with True, if the thread is woken or told to end."""
        return self._woken.wait(seconds)

    def end(self) -> None:
        """Tell the thread to end after the present turn, and return at once."""
        self._stopping.set()
        self._woken.set()

    def stop(self, seconds: Optional[float] = None) -> None:
        """End the thread, and return once it has ended, or after so many seconds."""
        self.end()
        if self._thread.ident is not None:  # it was started
            self._thread.join(seconds)

    def _run(self) -> None:
        pause: Optional[float] = self._first_pause
        try:
            while pause is not None:
                self._woken.wait(pause)
                self._woken.clear()  # before the turn: what comes meanwhile leads to another
                if self._stopping.is_set():
                    return
                pause = self._take_turn()
        finally:
            self._on_end()

    def _take_turn(self) -> Optional[float]:
        try:
            return self._turn()
        except Unavailable as error:
            _log.warning("%s_waits", self._name, extra={"error": error.message})
        except Exception:  # noqa: BLE001 - without the thread its work would end unseen
            _log.exception("%s_failed", self._name)
        if self._retry_seconds is not None:
            self._stopping.wait(self._retry_seconds)
            return 0.0
        return None
