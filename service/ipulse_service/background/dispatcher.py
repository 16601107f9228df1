"""Two threads behind the requests: one publishes wake-ups, one takes lost jobs back."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from ipulse_core.errors import Unavailable
from ipulse_service.background import outbox
from ipulse_service.background.clock_gap_guard import ClockGapGuard
from ipulse_service.db.engine import Database
from ipulse_service.jobs import attempts, leases, queue_order, store
from ipulse_service.jobs.wake_up import WakeUp
from ipulse_service.settings import Settings

if TYPE_CHECKING:
    from ipulse_service.background.celery_queue import Queue

BATCH = 500  # wake-ups per look into the outbox
# A message wakes whichever agent is free, for whichever job comes next: with so many of them in a
# queue no agent is idle, and each more would only take memory from the broker.
MOST_WAITING = 1_000
FLUSH_SECONDS = 0.25  # published ones leave the outbox together, not one commit each
TICK_SECONDS = 1.0  # between two looks for what nobody announced
# After we were away. An agent that was not heard asks again every second, and by its own clock its
# lease is over before it is by ours: more patience would only keep the jobs of dead ones waiting.
GRACE_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Dispatcher:
    """Drains the outbox, sends again what the broker forgot, reaps leases, queues retries."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._stopping = threading.Event()
        self._promised = threading.Event()  # the outbox holds something new
        self._fresh: deque[dict[int, WakeUp]] = deque()  # what that is, as far as it came from here
        self._retry = threading.Event()  # another job waits for its next attempt
        self._sent: set[int] = set()  # published, and still in the outbox
        self._waiting: dict[str, int] = {}  # at most so many messages wait, by kind of device
        self._held_back = False  # somebody was promised a message, and there were enough
        self._next_flush = 0.0  # these are in seconds of the monotonic clock
        self._next_outbox = 0.0
        self._next_rescan = 0.0
        grace = min(settings.lease_seconds, GRACE_SECONDS)
        self._clock_gap = ClockGapGuard(settings.heartbeat_seconds + TICK_SECONDS, grace)
        self._tick_seconds = min(TICK_SECONDS, settings.rescan_seconds)
        self.broker_answers = False
        self._threads = [
            threading.Thread(target=self._run, args=(self._publish, self._promised)),
            threading.Thread(target=self._run, args=(self._judge, self._retry)),
        ]
        database.listeners.append(self._hear)
        database.wake_up_listeners.append(self._hear_promises)

    @property
    def is_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    @cached_property
    def _queue(self) -> Queue:
        # Imported by the thread that publishes: Celery is a tenth of a start, and no answer to a
        # request needs it.
        from ipulse_service.background.celery_queue import Queue

        # What came after the start stays, too: looking through it would hold all requests up for
        # more than 15 ms, every few thousand of them.
        gc.freeze()
        return Queue(self._settings.broker_url)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._promised.set()
        self._retry.set()
        for thread in self._threads:
            thread.join()
        self._queue.close()

    def _hear(self, topics: frozenset[str]) -> None:
        if store.RETRY_TOPIC in topics:
            self._retry.set()

    def _hear_promises(self, wake_ups: dict[int, WakeUp]) -> None:
        self._fresh.append(wake_ups)
        self._promised.set()

    def _run(self, step: Callable[[], float], wake: threading.Event) -> None:
        while not self._stopping.is_set():
            try:
                wake.wait(step())
            except Unavailable as error:
                # Trouble of ours is never a verdict on a job: wait, and look again.
                _log.warning("dispatcher_waits", extra={"error": str(error)})
                self._stopping.wait(TICK_SECONDS)
            except Exception:  # noqa: BLE001 - a thread that dies here would strand every job
                _log.exception("dispatcher_failed")
                self._stopping.wait(TICK_SECONDS)

    def _publish(self) -> float:
        """Publishes what is promised. Returns the seconds until it must look again."""
        self._promised.clear()
        is_full = False
        try:
            pending = self._heard()
            if time.monotonic() >= self._next_outbox:
                # What was promised before this start or when the broker was away, or by a replica
                # that died. Who made a promise just now keeps it by itself.
                with self._database.read() as transaction:
                    since = transaction.now - round(self._tick_seconds * 1000)
                    found = outbox.pending(transaction, BATCH, since)
                is_full = len(found) == BATCH
                pending.update(found)
                self._next_outbox = time.monotonic() + (0.0 if is_full else self._tick_seconds)
            for key, wake_up in pending.items():
                if key not in self._sent:
                    self._wake(wake_up)
                    if not self._sent:  # the agent that was woken comes first
                        self._next_flush = time.monotonic() + FLUSH_SECONDS
                    self._sent.add(key)
            self._rescan()
        except Unavailable:
            self.broker_answers = False
            self._next_outbox = 0.0
            raise
        finally:
            self._flush(at_once=is_full)
        if is_full:
            return 0.0
        return min(FLUSH_SECONDS, self._tick_seconds) if self._sent else self._tick_seconds

    def _heard(self) -> dict[int, WakeUp]:
        """What was promised in this process since the last time, in order."""
        heard: dict[int, WakeUp] = {}
        while self._fresh:
            heard.update(self._fresh.popleft())
        return heard

    def _wake(self, wake_up: WakeUp) -> None:
        waiting = self._waiting.get(wake_up.device, 0)
        if waiting >= MOST_WAITING:
            self._held_back = True
            return
        self._queue.publish(wake_up.job_id, wake_up.device)
        self._waiting[wake_up.device] = waiting + 1

    def _flush(self, at_once: bool) -> None:
        """Takes published wake-ups out of the outbox; a crash before only sends them twice."""
        if not self._sent or (time.monotonic() < self._next_flush and not at_once):
            return
        with self._database.write() as transaction:
            outbox.remove(transaction, self._sent)
        self._sent = set()

    def _rescan(self) -> None:
        """Publishes again where jobs have been queued for a while and messages are missing."""
        if time.monotonic() < self._next_rescan:
            return
        with self._database.read() as transaction:
            since = transaction.now
            if not self._held_back:  # else there are jobs for which no message is on its way
                since -= round(self._settings.rescan_seconds * 1000)
            queued = outbox.queued(transaction, since)
        self._held_back = False
        known = {*queued, *self._waiting}
        self._waiting = {device: self._queue.waiting(device) for device in known}
        for device, count in queued.items():
            missing = min(count, MOST_WAITING) - self._waiting[device]
            if missing > 0:
                self._publish_again(device, since, missing)
        self._queue.ping()
        self.broker_answers = True
        self._next_rescan = time.monotonic() + self._tick_seconds

    def _publish_again(self, device: str, since: int, count: int) -> None:
        with self._database.read() as transaction:
            forgotten = outbox.oldest_queued(transaction, device, since, count)
        for wake_up in forgotten:
            self._wake(wake_up)
        _log.info("wake_ups_sent_again", extra={"device": device, "count": len(forgotten)})

    def _judge(self) -> float:
        """Reaps leases and queues retries. Returns the seconds until it must look again."""
        self._retry.clear()
        with self._database.read() as transaction:
            may_reap = self._clock_gap.may_expire_leases(transaction.now)
            reap = may_reap and bool(leases.expired(transaction))
            requeue = bool(queue_order.due(transaction))
            late = bool(queue_order.overdue(transaction))
        if reap or requeue or late:
            with self._database.write() as transaction:
                # Since the look we may have been stopped, or have waited for other writers.
                may_reap = self._clock_gap.may_expire_leases(transaction.now)
                reap = reap and may_reap
                lost = attempts.reap(transaction, self._settings) if reap else []
                queued = attempts.requeue(transaction)
                expired = attempts.expire(transaction)
            for job in lost:
                _log.warning("lease_expired", extra={"job": job.id, "state": job.state.value})
            for job in expired:
                _log.info("deadline_exceeded", extra={"job": job.id, "detail": job.message})
            for job in queued:
                _log.info("job_requeued", extra={"job": job.id})
        return self._until_next(may_reap)

    def _until_next(self, may_reap: bool) -> float:
        with self._database.read() as transaction:
            moments = [queue_order.next_due(transaction), queue_order.next_deadline(transaction)]
            if may_reap:
                moments.append(leases.next_expiry(transaction))
            waits = [moment - transaction.now for moment in moments if moment is not None]
        return min([TICK_SECONDS, *(max(wait, 1) / 1000 for wait in waits)])
