"""What happened to a job, in pages or as a stream: the same numbers either way."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ipulse_core import strict_json
from ipulse_core.errors import Problem
from ipulse_core.schema import MAX_INTEGER
from ipulse_service.http import log_context as log
from ipulse_service.http.auth import Caller
from ipulse_service.http.problems import InvalidParameter
from ipulse_service.http.responses import json_answer, json_content
from ipulse_service.http.state import AppState, get_caller, get_state
from ipulse_service.jobs import events, store

DEFAULT_PAGE = 500
MAX_PAGE = 1000
RECONNECT_MS = 1000  # after which a stream's reader comes back when the connection broke

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_ID = re.compile(r"([0-9]{1,16})(?:-([0-9a-f]{1,12}))?")

router = APIRouter(prefix="/v1", tags=["events"])


class EventQuery(BaseModel):
    """Which events, and how many at once."""

    model_config = ConfigDict(extra="forbid")

    after: int = Field(default=0, ge=0, le=MAX_INTEGER, description="Show what came later.")
    limit: int = Field(
        default=0, ge=0, description=f"0 means {DEFAULT_PAGE}; at most {MAX_PAGE} are shown."
    )
    kind: list[Literal[events.KINDS]] = Field(  # type: ignore[valid-type]
        default=[], max_length=len(events.KINDS)
    )


@dataclass(frozen=True)
class Seen:
    """The last event that a reader has: its number, and if known its time; where it was named."""

    seq: int
    time: int | None = None
    pointer: str = "/query/after"


@dataclass(frozen=True)
class Look:
    """A page of events, and the job's state when it was read."""

    page: events.Page
    state: str
    end: bool

    @property
    def text(self) -> str:
        """The JSON of an EventPageBody."""
        shown = ",".join([event.text for event in self.page.events])
        end = "true" if self.end else "false"
        return f'{{"events":[{shown}],"next_after":{self.page.next_after},"end":{end}}}'

    @cached_property
    def frames(self) -> str:
        """Of the events, as a stream has them; the same for each of its readers."""
        return "".join(map(_frame, self.page.events))


@router.get(
    "/jobs/{job_id}/events",
    responses={200: {"content": {**json_content("EventPageBody"), "text/event-stream": {}}}},
)
async def list_events(
    job_id: str,
    query: Annotated[EventQuery, Query()],
    request: Request,
    accept: Annotated[str, Header()] = "",
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """A page of events, or with `Accept: text/event-stream` a stream that ends with the job.

    A stream resumes after `Last-Event-ID` if that is sent, else after `after`. It breaks off when
    the token expires or is revoked. An id also says which history its number belongs to: where
    that of the job is another since, as after a restore, the answer is 409 `other_history`.
    """
    state = get_state(request)
    caller = get_caller(request)
    log.bind(job=job_id)
    limit = min(query.limit, MAX_PAGE) or DEFAULT_PAGE
    if "text/event-stream" not in accept.lower():
        look = await run_in_threadpool(_look, state, job_id, query, Seen(query.after), limit)
        return json_answer(look.text)
    seen = _resumed(last_event_id) if last_event_id else Seen(query.after)
    first = await run_in_threadpool(_look, state, job_id, query, seen, limit)
    stream = _stream(state, caller, job_id, query, first, limit)
    return StreamingResponse(stream, headers=_HEADERS, media_type="text/event-stream")


async def _stream(
    state: AppState, caller: Caller, job_id: str, query: EventQuery, look: Look, limit: int
) -> AsyncIterator[str]:
    yield f"retry: {RECONNECT_MS}\n\n"
    silent_since = time.monotonic()
    kinds = tuple(sorted(query.kind))
    with state.notifier.watch(job_id) as watch:
        # From here on nothing can happen unseen; what happened since the first look is next.
        while await _may_look(state, caller):
            if look.page.events:
                yield look.frames
                silent_since = time.monotonic()
            if look.end:
                body = {"state": look.state, "last_seq": look.page.next_after}
                yield f"event: end\ndata: {strict_json.dumps(body)}\n\n"
                return
            if state.notifier.stopping:
                return  # without an `end`: the reader comes back to whoever answers then
            after = look.page.next_after
            watch.clear()
            read = partial(_look, state, job_id, query, Seen(after), limit)
            try:
                look = await state.shared_reads.get((job_id, after, limit, kinds), read)
            except InvalidParameter:
                return  # put back to where it had fewer events: the reader's id tells it
            if look.page.events or look.end:
                continue
            ping_due = silent_since + state.settings.ping_seconds - time.monotonic()
            if ping_due <= 0:
                yield ": ping\n\n"
                silent_since = time.monotonic()
                ping_due = state.settings.ping_seconds
            await watch.wait(ping_due)


def _look(
    state: AppState,
    job_id: str,
    query: EventQuery,
    seen: Seen,
    limit: int,
) -> Look:
    with state.database.read() as transaction:
        job = store.get(transaction, job_id)
        if seen.time is not None:
            events.check_same(transaction, job.pk, seen.seq, seen.time)
        if seen.seq > job.last_seq:
            detail = f"this job has only {job.last_seq} events"
            raise InvalidParameter([Problem(seen.pointer, "out_of_range", detail)])
        page = events.page(transaction, job.pk, job.last_seq, seen.seq, limit, query.kind)
        end = job.state.is_terminal and page.next_after >= job.last_seq
    return Look(page, job.state.value, end)


async def _may_look(state: AppState, caller: Caller) -> bool:
    """Whether a caller's token is still good: a stream may outlive it."""
    if caller.token_id is None:
        return True

    def look() -> bool:
        with state.database.read() as transaction:
            return caller.is_known(transaction)

    return await state.shared_reads.get(("token", caller.token_id), look)


def _resumed(last_event_id: str) -> Seen:
    found = _ID.fullmatch(last_event_id)
    if not found:
        detail = "must be the id of an event of this stream"
        raise InvalidParameter([Problem("/header/last-event-id", "wrong_form", detail)])
    seq, time_ms = found.groups()
    since_1970 = None if time_ms is None else int(time_ms, 16)
    return Seen(int(seq), since_1970, "/header/last-event-id")


def _frame(event: events.StoredEvent) -> str:
    # JSON text has no line breaks of its own, so one data line holds it.
    return f"id: {event.seq}-{event.time:x}\nevent: {event.kind}\ndata: {event.text}\n\n"
