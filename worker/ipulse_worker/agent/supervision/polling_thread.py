"""A thread beside an attempt: it asks the service again and again until either has ended."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from ipulse_worker.agent.supervision.lease import Lease


class Companion(ABC):
    """Asks while its context is open and the lease is not lost."""

    def __init__(self, name: str, lease: Lease, is_awaited: bool) -> None:
        """`is_awaited`: whether the context ends only when the last question is answered."""
        self._name = name
        self._lease = lease
        self._is_awaited = is_awaited
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
        if self._is_awaited:
            self._thread.join()

    @abstractmethod
    def ask(self) -> float | None:
        """One question. Returns the seconds until the next, or None for no other."""

    def first_pause(self) -> float:
        """Seconds until the first question."""
        return 0.0

    def _run(self) -> None:
        pause: float | None = self.first_pause()
        with self._lease.lost_by_failure(self._name):
            while pause is not None and not self._ended.wait(pause):
                pause = self.ask()
