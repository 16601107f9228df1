"""Wakes coroutines that wait for a job to change, when a transaction of this process commits."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class JobWatch:
    """A waiter for a topic: clear it, read the database, then wait, and no change is missed."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def clear(self) -> None:
        """Forgets changes up to now."""
        self._changed.clear()

    def wake(self) -> None:
        """Reports a change; called on the loop of the waiter."""
        self._changed.set()

    @property
    def is_woken(self) -> bool:
        """Return whether there was a change since `clear`."""
        return self._changed.is_set()

    async def wait(self, seconds: float) -> None:
        """Returns at the next change, or after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return


class JobNotifier:
    """Passes commits of any thread on to the coroutines that wait for them, on any event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[str, set[JobWatch]] = {}
        self.stopping = False

    def publish(self, topics: Iterable[str]) -> None:
        """Wakes the waiters of these topics. Any thread may call this."""
        # A waiter that registers after this line reads the database after the commit.
        if not self._watches:
            return
        by_loop = defaultdict(list)
        with self._lock:
            for topic in topics:
                for watch in self._watches.get(topic, ()):
                    by_loop[watch.loop].append(watch)
        for loop, watches in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, watches)

    def stop(self) -> None:
        """Ends all waits, so that open streams do not delay a shutdown."""
        self.stopping = True
        self.publish(tuple(self._watches))

    def watched(self) -> set[str]:
        """Returns the ids of the jobs that are watched. Any thread may call this."""
        return {topic.partition("/")[0] for topic in tuple(self._watches)}

    def is_watched(self, topic: str) -> bool:
        """Returns whether a waiter is registered for a topic."""
        return topic in self._watches

    @contextmanager
    def watch(self, topic: str) -> Iterator[JobWatch]:
        """Registers a waiter for a topic while the block runs."""
        watch = JobWatch()
        with self._lock:
            self._watches.setdefault(topic, set()).add(watch)
        try:
            yield watch
        finally:
            with self._lock:
                watches = self._watches[topic]
                watches.discard(watch)
                if not watches:
                    del self._watches[topic]


def _wake(watches: list[JobWatch]) -> None:
    for watch in watches:
        watch.wake()
