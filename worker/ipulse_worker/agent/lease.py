"""The lease of an attempt: the right to report for it, until it expires or is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ipulse_core.errors import IPUlseError

Clock = Callable[[], float]
OnLoss = Callable[[IPUlseError], None]


class AttemptLease:
    """The lease of one attempt, shared by the threads that report for it.

    Every request contains `fence`. A lease that was lost stays lost.
    """

    def __init__(
        self,
        attempt_id: str,
        fence: str,
        seconds: float,
        sent_at: float,
        clock: Clock = time.monotonic,
    ) -> None:
        """Make a lease of `seconds` from `sent_at`, the time (by `clock`) of the claim request."""
        self.attempt_id = attempt_id
        self.fence = fence
        self._clock = clock
        self._expires = sent_at + seconds
        self.renewals = 0  # heartbeats that the service answered
        self.loss: IPUlseError | None = None  # why it was lost
        self.may_expire = False  # no runner works under it: its end is for the service to decide
        self._is_lost = threading.Event()
        self._deciding = threading.Lock()
        self._listeners: list[OnLoss] = []

    @property
    def is_lost(self) -> bool:
        """True once the lease is lost."""
        return self._is_lost.is_set()

    def renew(self, seconds: float, sent_at: float) -> None:
        """Renew the lease, counted from when the request was sent: the service decided later."""
        self._expires = sent_at + seconds
        self.renewals += 1

    def seconds_left(self) -> float:
        """Return the seconds until the lease expires; negative once it has expired."""
        return self._expires - self._clock()

    def wait_for_loss(self, seconds: float) -> bool:
        """Sleep; return early, with True, once the lease is lost."""
        return self._is_lost.wait(seconds)

    def lose(self, why: IPUlseError) -> None:
        """Mark the lease as lost and call the listeners; only the first call has an effect."""
        with self._deciding:
            if self.loss:
                return
            self.loss = why
            self._is_lost.set()
        for listener in self._listeners:
            listener(why)

    def on_loss(self, listener: OnLoss) -> None:
        """Call `listener` once with the reason of the loss, in the thread that detects it."""
        with self._deciding:
            if self.loss is None:
                self._listeners.append(listener)
                return
            why = self.loss
        listener(why)

    @contextmanager
    def lost_by_failure(self, name: str) -> Iterator[None]:
        """Lose the lease if the context raises; an error of the service is the reason itself.

        The attempt's other threads then stop instead of waiting for the failed one.
        """
        try:
            yield
        except BaseException as error:
            failed = f"the {name} failed: {error!r}"
            self.lose(error if isinstance(error, IPUlseError) else IPUlseError(failed))
            raise
