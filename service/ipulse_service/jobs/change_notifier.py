"""Who waits for a job to change: woken inside the process, by the transaction that changed it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Watch:
    """One waiter for one topic. Clear it, look at the database, then wait: nothing is missed."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def clear(self) -> None:
        self._changed.clear()

    def wake(self) -> None:
        self._changed.set()

    @property
    def is_woken(self) -> bool:
        return self._changed.is_set()

    async def wait(self, seconds: float) -> None:
        """Returns at the next change, or after `seconds` whatever happened."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return


class JobNotifier:
    """Carries word of commits, from whatever thread, to the coroutines that wait."""

    def __init__(self) -> None:
        self._watches: dict[str, set[Watch]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stopping = False

    def start(self) -> None:
        """Called on the event loop that the waiters run on."""
        self._loop = asyncio.get_running_loop()

    def publish(self, topics: Iterable[str]) -> None:
        """Wakes the waiters of these topics. Any thread may call this."""
        # Whoever registers after this line looks at the database after the commit.
        if self._watches and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, tuple(topics))

    def stop(self) -> None:
        """Ends every wait for good, so that open streams do not hold up a shutdown."""
        self.stopping = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake_all)

    def watched(self) -> set[str]:
        """The ids of the jobs that somebody waits for. Any thread may call this."""
        return {topic.partition("/")[0] for topic in tuple(self._watches)}

    def is_watched(self, topic: str) -> bool:
        return topic in self._watches

    @contextmanager
    def watch(self, topic: str) -> Iterator[Watch]:
        watch = Watch()
        self._watches.setdefault(topic, set()).add(watch)
        try:
            yield watch
        finally:
            watches = self._watches[topic]
            watches.discard(watch)
            if not watches:
                del self._watches[topic]

    def _wake(self, topics: tuple[str, ...]) -> None:
        for topic in topics:
            for watch in self._watches.get(topic, ()):
                watch.wake()

    def _wake_all(self) -> None:
        self._wake(tuple(self._watches))
