"""The time in which this process listened to agents, in which leases are counted."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

NOTICED_MS = 2_000  # a shorter silence is not recorded: a lease is many times as long
LONG_MS = 2**60  # longer than any database
REMEMBERED = 1_000  # silences; more than there are in the listening time of a lease


class ListeningTime:
    """Records when agents were not listened to, and which leases have expired without that time.

    A silence is a time in which the event loop of agents did not run (also while the process or
    its machine was suspended) or accepted none of the connections that waited, in which a heartbeat
    waited for its answer, or in which the reaper could not look at leases. The time since the
    service was stopped is one, too. A clock that was set is none.

    While connections are accepted and others wait, agents were listened to until the oldest of
    these arrived: a service that is always behind notices a dead agent later by that delay.

    Any thread may call the methods.
    """

    def __init__(
        self,
        elapsed_ms: Callable[[], int],
        lease_seconds: float,
        grace_seconds: float,
        longest_seconds: float,
    ) -> None:
        """After a silence agents have `grace_seconds` to renew, whatever is left of their leases.

        Args:
            elapsed_ms: The clock that passes while the process or its machine is suspended.
            lease_seconds: How long a lease lasts.
            grace_seconds: How long no lease expires after a silence.
            longest_seconds: The longest time between two scans of the reaper that is no silence.
        """
        self._elapsed_ms = elapsed_ms
        self._lease_ms = round(lease_seconds * 1000)
        self._grace_ms = round(grace_seconds * 1000)
        self._longest_ms = round(longest_seconds * 1000)
        self._lock = threading.Lock()
        self._silences: deque[tuple[int, int]] = deque(maxlen=REMEMBERED)  # apart, in order
        self._last_scan: int | None = None
        self._last_turn: int | None = None  # of the event loop of agents; None: it does not run
        self._accepted = 0  # connections, at the last turn
        self._stuck_since: int | None = None  # connections wait, and none was accepted
        # When some were seen to wait, and how many will be accepted in all when they are.
        self._queued: deque[tuple[int, int]] = deque()
        self._names = count()
        self._waiting: dict[int, int] = {}  # heartbeats without an answer, since when

    def turn(self, waiting: int = 0, accepted: int = 0) -> None:
        """Records that the event loop of agents runs.

        Args:
            waiting: How many connections it has not accepted yet.
            accepted: How many it has accepted since it began.
        """
        now = self._elapsed_ms()
        with self._lock:
            if self._last_turn is not None:
                self._add(self._last_turn, now, NOTICED_MS)
            self._last_turn = now
            if self._stuck_since is not None:
                self._add(self._stuck_since, now, NOTICED_MS)
            if not waiting:
                self._stuck_since = None
            elif self._stuck_since is None or accepted != self._accepted:
                self._stuck_since = now
            self._accepted = accepted
            self._note_queue(now, waiting)

    def _note_queue(self, now: int, waiting: int) -> None:
        """Forgets the connections that were accepted, and notes when the others were seen."""
        while self._queued and (not waiting or self._queued[0][1] <= self._accepted):
            self._queued.popleft()
        last = self._accepted + waiting
        if waiting and not (self._queued and self._queued[-1][1] >= last):
            self._queued.append((now, last))

    def end_turns(self) -> None:
        """Records that the event loop of agents ends, so that it is not missed."""
        with self._lock:
            self._last_turn = self._stuck_since = None
            self._queued.clear()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Answers a heartbeat while the block runs."""
        name = next(self._names)
        with self._lock:
            self._waiting[name] = self._elapsed_ms()
        try:
            yield
        finally:
            with self._lock:
                self._add(self._waiting.pop(name), self._elapsed_ms(), NOTICED_MS)

    def expired_by(self, now: int, stopped_ms: int | None) -> int | None:
        """Returns the time at or before which a lease must have expired to be lost; None: none is.

        It is called at every scan.

        Args:
            now: The time of the steady clock in milliseconds.
            stopped_ms: How long the service was stopped before the first scan, if that is known.
                If not, leases begin anew.
        """
        elapsed = self._elapsed_ms()
        with self._lock:
            if self._last_scan is None:
                stopped = LONG_MS if stopped_ms is None else stopped_ms
                self._add(elapsed - stopped, elapsed, -1)
            else:
                self._add(self._last_scan, elapsed, self._longest_ms)
            self._last_scan = elapsed
            for since in (self._last_turn, self._stuck_since, *self._waiting.values()):
                if since is not None:
                    self._add(since, elapsed, NOTICED_MS)
            if elapsed < self._silences[-1][1] + self._grace_ms:
                return None
            read_until = self._queued[0][0] if self._queued else elapsed
            if elapsed - read_until <= NOTICED_MS:
                read_until = elapsed
            return now - self._unheard_ms(elapsed, read_until)

    def _add(self, begin: int, end: int, longest_ms: int) -> None:
        """Adds a silence unless it is too short, and unites it with those that it overlaps."""
        if end - begin <= longest_ms:
            return
        later = []
        while self._silences and self._silences[-1][1] >= begin:
            known = self._silences.pop()
            if known[0] > end:
                later.append(known)
            else:
                begin, end = min(begin, known[0]), max(end, known[1])
        self._silences.append((begin, end))
        self._silences.extend(reversed(later))

    def _unheard_ms(self, elapsed: int, read_until: int) -> int:
        """Returns by how much leases are extended: the silences since they were last renewed.

        A lease is lost after a whole lease of listening without a renewal. What arrived after
        `read_until` may still wait.
        """
        heard, edge = 0, read_until
        for begin, known_end in reversed(self._silences):
            if begin >= edge:
                continue
            end = min(known_end, edge)
            if heard + edge - end >= self._lease_ms:
                break
            heard, edge = heard + edge - end, begin
        return elapsed - edge - heard
