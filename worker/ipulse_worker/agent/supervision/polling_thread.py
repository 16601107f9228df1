"""A thread that polls the service while an attempt runs."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from ipulse_worker.agent.supervision.lease import AttemptLease


class PollingThread(ABC):
    """Polls while its context is open and the lease is not lost."""

    def __init__(self, name: str, lease: AttemptLease, is_joined: bool) -> None:
        """Prepare the thread.

        Args:
            name: The thread's name.
            lease: Its loss ends the polling.
            is_joined: Whether leaving the context waits for a poll that is in progress.
        """
        self._name = name
        self._lease = lease
        self._is_joined = is_joined
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        lease.on_loss(lambda why: self._ended.set())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._is_joined:
            self._thread.join()

    @abstractmethod
    def poll(self) -> float | None:
        """Send one request. Return the seconds until the next, or None to end the thread."""

    def first_pause(self) -> float:
        """Return the seconds until the first poll."""
        return 0.0

    def _run(self) -> None:
        pause: float | None = self.first_pause()
        with self._lease.lost_by_failure(self._name):
            while pause is not None and not self._ended.wait(pause):
                pause = self.poll()
