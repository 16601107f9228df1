"""Publishes wake-ups: those promised in the outbox, and again those that the broker lost."""

from __future__ import annotations

import logging
import time
from collections import deque

from ipulse_core.errors import Unavailable
from ipulse_core.repeating_thread import RepeatingThread
from ipulse_service.background.celery_queue import WakeUpQueue
from ipulse_service.db.engine import Database
from ipulse_service.db.wake_up import WakeUp
from ipulse_service.jobs import outbox
from ipulse_service.settings import Settings

BATCH = 500  # wake-ups in one query of the outbox
# A wake-up makes any free agent claim the next job. With this many in a queue no agent is idle,
# and more would only use the broker's memory.
MAX_WAITING = 1_000
FLUSH_SECONDS = 0.25  # published wake-ups leave the outbox together, in one commit
TICK_SECONDS = 1.0  # between two scans for wake-ups that no commit of this process announced

_log = logging.getLogger(__name__)


class Publisher(RepeatingThread):
    """A thread that drains the outbox into the queues of the device kinds.

    A job's wake-up is written to the outbox in the transaction that queues the job. A commit of
    this process announces it at once; a scan finds those of other replicas, and those promised
    before a restart or while the broker was away.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__("publisher", self._publish)
        self._database = database
        self._settings = settings
        self._tick_seconds = min(TICK_SECONDS, settings.rescan_seconds)
        self._announcements: deque[dict[int, WakeUp]] = deque()  # by key in the outbox
        self._sent: set[int] = set()  # keys that are published and still in the outbox
        self._waiting: dict[str, int] = {}  # upper bound of the messages in the queue of each kind
        self._held_back = False  # a wake-up was not sent because its queue was full
        self._next_flush = 0.0  # these are in seconds of the monotonic clock
        self._next_scan = 0.0
        self._next_rescan = 0.0
        self.broker_answers = False
        self._queue = WakeUpQueue(settings.broker_url)
        database.wake_up_listeners.append(self._announce)

    def stop(self, seconds: float | None = None) -> None:
        """Ends the thread, and closes its connection to the broker."""
        super().stop(seconds)
        self._queue.close()

    def _announce(self, wake_ups: dict[int, WakeUp]) -> None:
        self._announcements.append(wake_ups)
        self.wake()

    def _publish(self) -> float:
        """Publishes what is promised. Returns the seconds until the next scan."""
        is_full = False
        try:
            pending = self._take_announcements()
            if time.monotonic() >= self._next_scan:
                with self._database.read() as transaction:
                    # Younger promises are published by the process that made them.
                    since = transaction.now - round(self._tick_seconds * 1000)
                    scanned = outbox.pending(transaction, BATCH, since)
                is_full = len(scanned) == BATCH
                pending.update(scanned)
                self._next_scan = time.monotonic() + (0.0 if is_full else self._tick_seconds)
            for key, wake_up in pending.items():
                if key not in self._sent:
                    self._send(wake_up)
                    if not self._sent:
                        self._next_flush = time.monotonic() + FLUSH_SECONDS
                    self._sent.add(key)
            self._rescan()
        except Unavailable:
            self.broker_answers = False
            self._next_scan = 0.0
            raise
        finally:
            self._flush(at_once=is_full)
        if is_full:
            return 0.0
        return min(FLUSH_SECONDS, self._tick_seconds) if self._sent else self._tick_seconds

    def _take_announcements(self) -> dict[int, WakeUp]:
        pending: dict[int, WakeUp] = {}
        while self._announcements:
            pending.update(self._announcements.popleft())
        return pending

    def _send(self, wake_up: WakeUp) -> None:
        waiting = self._waiting.get(wake_up.device, 0)
        if waiting >= MAX_WAITING:
            self._held_back = True
            return
        self._queue.send(wake_up.job_id, wake_up.device)
        self._waiting[wake_up.device] = waiting + 1

    def _flush(self, at_once: bool) -> None:
        """Deletes published wake-ups from the outbox. After a crash before, they are sent twice."""
        if not self._sent or (time.monotonic() < self._next_flush and not at_once):
            return
        with self._database.write() as transaction:
            outbox.remove(transaction, self._sent)
        self._sent = set()

    def _rescan(self) -> None:
        """Sends wake-ups again where jobs have been queued for a while and messages are missing."""
        if time.monotonic() < self._next_rescan:
            return
        with self._database.read() as transaction:
            since = transaction.now
            if not self._held_back:  # else some jobs have no wake-up under way
                since -= round(self._settings.rescan_seconds * 1000)
            queued = outbox.queued(transaction, since)
        self._held_back = False
        devices = {*queued, *self._waiting}
        self._waiting = {device: self._queue.waiting(device) for device in devices}
        for device, count in queued.items():
            missing = min(count, MAX_WAITING) - self._waiting[device]
            if missing > 0:
                self._send_again(device, since, missing)
        self._queue.check_writable()
        self.broker_answers = True
        self._next_rescan = time.monotonic() + self._tick_seconds

    def _send_again(self, device: str, since: int, count: int) -> None:
        with self._database.read() as transaction:
            wake_ups = outbox.oldest_queued(transaction, device, since, count)
        for wake_up in wake_ups:
            self._send(wake_up)
        _log.info("wake_ups_sent_again", extra={"device": device, "count": len(wake_ups)})
