"""A job's events as a stream of server-sent events."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from ipulse_core import strict_json
from ipulse_core.errors import Problem
from ipulse_service.http.caller import Caller
from ipulse_service.http.problems import InvalidParameter
from ipulse_service.http.state import AppState
from ipulse_service.jobs import events, store

MEDIA_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
RECONNECT_MS = 1000  # the time after which a client reconnects

_EVENT_ID = re.compile(r"([0-9]{1,16})(?:-([0-9a-f]{1,12}))?")


@dataclass(frozen=True)
class EventSelection:
    """Which events of which job a client reads, and how many at once.

    Attributes:
        is_last: Whether it reads the last events instead of the first.
    """

    job_id: str
    limit: int
    kinds: Sequence[str] = ()
    is_last: bool = False


@dataclass(frozen=True)
class Position:
    """The last event that a client has.

    Attributes:
        seq: Its sequence number.
        time: Its time in milliseconds since 1970, where the client sent that.
        pointer: The parameter that it came from.
    """

    seq: int
    time: int | None = None
    pointer: str = "/query/after"


@dataclass(frozen=True)
class EventsRead:
    """A page of events, and the job's state when it was read."""

    page: events.Page
    state: str
    end: bool

    @cached_property
    def frames(self) -> str:
        """The events as text of the stream, built once for all clients of a shared read."""
        return "".join(map(_frame, self.page.events))


def parse_event_id(last_event_id: str) -> Position:
    """Returns the position that a Last-Event-ID header names. Raises InvalidParameter."""
    match = _EVENT_ID.fullmatch(last_event_id)
    if match is None:
        detail = "must be the id of an event of this stream"
        raise InvalidParameter([Problem("/header/last-event-id", "wrong_form", detail)])
    seq, time_ms = match.groups()
    since_1970 = None if time_ms is None else int(time_ms, 16)
    return Position(int(seq), since_1970, "/header/last-event-id")


def read_events(state: AppState, selection: EventSelection, after: Position) -> EventsRead:
    """Returns the page of events that follows a position.

    Raises:
        NotFound: There is no such job.
        OtherHistory: The event at the position is not the one that the client has.
        InvalidParameter: The job has fewer events.
    """
    with state.database.read() as transaction:
        job = store.get(transaction, selection.job_id)
        if after.time is not None:
            events.check_same(transaction, job.pk, after.seq, after.time)
        if after.seq > job.last_seq:
            detail = f"this job has only {job.last_seq} events"
            raise InvalidParameter([Problem(after.pointer, "out_of_range", detail)])
        read_page = events.last_page if selection.is_last else events.page
        page = read_page(
            transaction, job.pk, job.last_seq, after.seq, selection.limit, selection.kinds
        )
        end = job.state.is_terminal and page.next_after >= job.last_seq
    return EventsRead(page, job.state.value, end)


async def stream(
    state: AppState, caller: Caller, selection: EventSelection, read: EventsRead
) -> AsyncIterator[str]:
    """Yields the events that were read and all that follow, until the job has ended.

    Stops without an `end` event when the caller's token expires or is revoked, and when the
    service stops: the client then connects again.
    """
    yield f"retry: {RECONNECT_MS}\n\n"
    silent_since = time.monotonic()
    kinds = tuple(sorted(selection.kinds))
    with state.notifier.watch(selection.job_id) as watch:
        # New events wake the loop from here on. The next read returns those since the first read.
        while await is_still_known(state, caller):
            if read.page.events:
                yield read.frames
                silent_since = time.monotonic()
            if read.end:
                body = {"state": read.state, "last_seq": read.page.next_after}
                yield f"event: end\ndata: {strict_json.dumps(body)}\n\n"
                return
            if state.notifier.stopping:
                return
            after = read.page.next_after
            watch.clear()
            read_next = partial(read_events, state, selection, Position(after))
            try:
                key = (caller.name, selection.job_id, after, selection.limit, kinds)
                read = await state.shared_reads.get(key, read_next)
            except InvalidParameter:
                return  # a restored backup has fewer events; a reconnect reports it
            if read.page.events or read.end:
                continue
            ping_due = silent_since + state.settings.ping_seconds - time.monotonic()
            if ping_due <= 0:
                yield ": ping\n\n"
                silent_since = time.monotonic()
                ping_due = state.settings.ping_seconds
            await watch.wait(ping_due)


async def is_still_known(state: AppState, caller: Caller) -> bool:
    """Checks that the caller's token is still valid: a stream may outlive it."""
    if caller.token_id is None:
        return True

    def look_up() -> bool:
        with state.database.read() as transaction:
            return caller.is_known(transaction)

    return await state.shared_reads.get(("token", caller.token_id), look_up)


def _frame(event: events.StoredEvent) -> str:
    # The JSON has no line breaks, so that one data line is enough.
    return f"id: {event.seq}-{event.time:x}\nevent: {event.kind}\ndata: {event.text}\n\n"
