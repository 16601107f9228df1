"""Sends an attempt's events to the service: in order, in batches, without loss or duplicates."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import islice

from ipulse_core.errors import IPUlseError, NotFound, RemoteError, StaleToken
from ipulse_core.events import Event, Level, LogEvent, MetricEvent, ProgressEvent
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.retry_policy import retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable

# The first event after a pause is sent almost at once: a runner writes several events in a row, and
# the last ones right before its end, so that they are sent together. Later events wait to be sent
# in batches: log lines longer than the events that users watch.
AT_ONCE_SECONDS = 0.005
LOG_SECONDS = 0.1
NEWS_SECONDS = 0.02
BATCH_EVENTS = 5_000
BATCH_BYTES = 4 * 2**20
BACKLOG_EVENTS = 10_000  # then `add` blocks, and thereby the runner


class EventReporter:
    """Numbers events from 1 and sends them until the service has acknowledged each.

    After a failure it sends again from the first event that was not acknowledged; the service
    ignores duplicates.
    """

    def __init__(
        self,
        api: ServiceAPI,
        lease: AttemptLease,
        on_refusal: Callable[[str], None],
        on_end: Callable[[], None],
    ) -> None:
        """Prepare the thread.

        Args:
            api: The service.
            lease: The lease of the attempt; its loss ends the thread.
            on_refusal: Called with a message when the service refuses an event.
            on_end: Called when nothing more will be sent, unless the lease is lost.
        """
        self._api = api
        self._lease = lease
        self._on_refusal = on_refusal
        self._on_end = on_end
        self.has_ended = False
        self.refusal = ""  # why the service refused an event
        self._first = 1  # number of the first event in the backlog
        self._backlog: deque[Event] = deque()
        self._change = threading.Condition()
        self._has_news = False  # an event other than a log line waits
        self._is_ending = False
        self._is_closed = False
        self._max_unsent = 0
        self._last_sent = float("-inf")
        self._since = float("-inf")  # when the first event of the backlog came
        self._thread = threading.Thread(target=self._run, name="reporter", daemon=True)
        lease.on_loss(lambda why: self._wake())

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def add(self, event: Event) -> None:
        """Append an event; block while the backlog is full. After the end, events are dropped."""
        with self._change:
            if len(self._backlog) >= BACKLOG_EVENTS:
                self._change.wait_for(lambda: len(self._backlog) < BACKLOG_EVENTS or self._is_over)
            if self._is_over:
                return
            if not self._backlog:
                self._since = time.monotonic()
            self._backlog.append(event)
            is_news = not isinstance(event, LogEvent)
            # Wake the thread only if this changes when the next batch is due: a wake-up for each
            # line would cost more than the line.
            if (is_news and not self._has_news) or len(self._backlog) in (1, BATCH_EVENTS):
                self._change.notify_all()
            self._has_news = self._has_news or is_news

    def remark(self, message: str, level: Level = "info") -> None:
        """Append a log line of the agent itself."""
        self.add(LogEvent(message=message, level=level, stream="agent"))

    def expect_end(self) -> None:
        """Delay later events, so that they are sent in the request that reports the outcome."""
        with self._change:
            self._is_ending = True
            self._change.notify_all()

    def close(self, max_unsent: int = 0) -> None:
        """Send the remaining events without waiting for a batch, and end.

        At most `max_unsent` events remain in `unsent`, to be sent with the outcome.
        """
        with self._change:
            self._max_unsent = max_unsent
            self._is_closed = True
            self._change.notify_all()

    @property
    def unsent(self) -> tuple[int, list[Event]]:
        """The first unsent event's number, and the unsent events; valid after the end."""
        return self._first, list(self._backlog)

    def send_unsent(self) -> None:
        """Send the events in `unsent` in a request of their own."""
        self._send(self.unsent[1])

    @property
    def _is_over(self) -> bool:
        return bool(self.refusal) or self._lease.is_lost

    @property
    def _due(self) -> float:
        """The time at which the waiting events must be sent."""
        if self._is_ending:
            return max(self._last_sent, self._since) + LOG_SECONDS
        pause = NEWS_SECONDS if self._has_news else LOG_SECONDS
        return max(self._last_sent + pause, self._since + AT_ONCE_SECONDS)

    def _wake(self) -> None:
        with self._change:
            self._change.notify_all()

    def _run(self) -> None:
        with self._lease.lost_by_failure("reporter"):
            while batch := self._next_batch():
                self._send(batch)
            self.has_ended = True
            self._on_end()

    def _next_batch(self) -> list[Event]:
        """Wait for events that are due; an empty batch means that no more will come."""
        with self._change:
            self._change.wait_for(lambda: self._backlog or self._is_closed or self._is_over)
            while not (self._is_closed or self._is_over or len(self._backlog) >= BATCH_EVENTS):
                if not self._change.wait(max(0.0, self._due - time.monotonic())):
                    break
            self._has_news = False
            batch = _within_limits(self._backlog)
            is_rest = self._is_closed and len(self._backlog) == len(batch) <= self._max_unsent
            return [] if self._is_over or is_rest else batch

    def _send(self, batch: list[Event]) -> None:
        first = self._first
        self._last_sent = time.monotonic()
        try:
            following = retry_while_unavailable(
                lambda: self._api.send_events(self._lease, first, batch),
                self._lease.wait_for_loss,
                outlasts_absence=True,
            )
        except (StaleToken, NotFound, ServiceUnavailable) as error:
            # An outage of the service never fails the job: another attempt continues it.
            self._lease.lose(error)
        except RemoteError as error:
            if error.remote_code == "sequence_gap":
                self._lease.lose(error)  # it has lost events that it had acknowledged
            else:
                self._refuse(error.message)
        except IPUlseError as error:
            self._refuse(error.message)
        else:
            self._acknowledge(following)

    def _acknowledge(self, following: int) -> None:
        if not self._first <= following <= self._first + len(self._backlog):
            why = f"the service expects event {following}, which is none of those sent"
            self._lease.lose(RemoteError(why))
            return
        with self._change:
            for _ in range(following - self._first):
                self._backlog.popleft()
            self._first = following
            self._change.notify_all()

    def _refuse(self, detail: str) -> None:
        with self._change:
            self.refusal = f"The service refused an event: {detail}"
            self._change.notify_all()
        self._on_refusal(self.refusal)


def _within_limits(backlog: deque[Event]) -> list[Event]:
    batch: list[Event] = []
    left = BATCH_BYTES
    for event in islice(backlog, BATCH_EVENTS):
        left -= _size(event)
        if batch and left < 0:
            break
        batch.append(event)
    return batch


def _size(event: Event) -> int:
    """Return an upper bound of an event's length as JSON, in bytes."""
    if isinstance(event, (LogEvent, ProgressEvent)):
        return 200 + 4 * len(event.message)
    if isinstance(event, MetricEvent):
        return 300 + 100 * len(event.values)
    return 300
