"""The right to speak for an attempt: it lasts as long as the service keeps renewing it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ipulse_core.errors import IPUlseError

Clock = Callable[[], float]
OnLoss = Callable[[IPUlseError], None]


class Lease:
    """Held by one attempt, shared by the threads that speak for it.

    `fence` goes with every word to the service. Once lost, a lease stays lost.
    """

    def __init__(
        self,
        attempt_id: str,
        fence: str,
        seconds: float,
        sent_at: float,
        clock: Clock = time.monotonic,
    ) -> None:
        """`sent_at`: when the request that the lease answers was sent, by `clock`."""
        self.attempt_id = attempt_id
        self.fence = fence
        self._clock = clock
        self._expires = sent_at + seconds
        self._loss: IPUlseError | None = None
        self._is_lost = threading.Event()
        self._deciding = threading.Lock()
        self._listeners: list[OnLoss] = []

    @property
    def is_lost(self) -> bool:
        return self._is_lost.is_set()

    def renew(self, seconds: float, sent_at: float) -> None:
        """Counts from when the question was sent: the service decided after that, not before."""
        self._expires = sent_at + seconds

    def seconds_left(self) -> float:
        return self._expires - self._clock()

    def wait_for_loss(self, seconds: float) -> bool:
        """Sleeps; returns early, with True, once the lease is lost."""
        return self._is_lost.wait(seconds)

    def lose(self, why: IPUlseError) -> None:
        """Says that nobody listens any more. The first reason stands."""
        with self._deciding:
            if self._loss:
                return
            self._loss = why
            self._is_lost.set()
        for listener in self._listeners:
            listener(why)

    def on_loss(self, listener: OnLoss) -> None:
        """`listener` is called once with the reason, by whichever thread learns it first."""
        with self._deciding:
            if self._loss is None:
                self._listeners.append(listener)
                return
            why = self._loss
        listener(why)

    @contextmanager
    def lost_by_failure(self, who: str) -> Iterator[None]:
        """An error that ends one of the threads of an attempt loses the lease: the others must
        not go on without it, and must not wait for it either."""
        try:
            yield
        except BaseException as error:
            self.lose(IPUlseError(f"the {who} failed: {error!r}"))
            raise
