"""Route of the changes of all jobs, as pages or as a stream."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ipulse_core import strict_json
from ipulse_service.http import problems, sse
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import DIGITS, CurrentCaller, State, WaitSeconds
from ipulse_service.http.routes.jobs.events import EventStream, LastEventId
from ipulse_service.http.schemas.jobs.events import ActivityList
from ipulse_service.http.state import AppState
from ipulse_service.jobs import activity
from ipulse_service.jobs.activity import ActivityPage, Cursor

DEFAULT_PAGE, MAX_PAGE = 500, 1000
NOW = "now"
# PostgreSQL shows a row only when older transactions have ended, which wakes nobody.
SETTLED_SECONDS = 1.0

router = APIRouter(prefix="/v1", tags=["events"])


class ActivityQuery(BaseModel):
    """Query parameters of the changes of all jobs."""

    model_config = ConfigDict(extra="forbid")

    after: str = Field(
        default="",
        max_length=64,
        description="Return the events after this cursor; `now`: those from now on; empty: all "
        "of the last 30 days.",
    )
    project: str | None = Field(default=None, max_length=64, description="Of this project only.")
    limit: Annotated[int, Field(ge=0), DIGITS] = Field(
        default=0, description=f"0 means {DEFAULT_PAGE}; at most {MAX_PAGE} are read at once."
    )


@router.get(
    "/events",
    response_model=ActivityList,
    summary="List or stream the changes of all jobs",
    response_description="A page of events, or a stream.",
    responses={200: {"content": {sse.MEDIA_TYPE: {}}}, **problems.documented(409, 422)},
)
async def list_activity(
    query: Annotated[ActivityQuery, Query()],
    state: State,
    caller: CurrentCaller,
    seconds: WaitSeconds,
    accept: Annotated[str, Header(description=f"`{sse.MEDIA_TYPE}` asks for a stream.")] = "",
    last_event_id: LastEventId = "",
) -> ActivityList | StreamingResponse:
    """Returns the changes of state of all jobs that the caller may read, in one sequence.

    Each event has a cursor; no event is missing and none comes twice, whatever replica answers. A
    page may be empty although more follow: go on after `next_after`. With `Prefer: wait=N` an
    empty page waits for events up to N seconds, and with `Accept: text/event-stream` the answer is
    a stream without an end, whose ids are the cursors.
    """
    read = partial(_read, state, query.project, min(query.limit, MAX_PAGE) or DEFAULT_PAGE)
    first = await run_in_threadpool(read, last_event_id or query.after)
    if sse.MEDIA_TYPE in accept.lower():
        return EventStream(_stream(state, caller, read, first), headers=sse.HEADERS)
    deadline = time.monotonic() + seconds
    with state.notifier.watch(activity.TOPIC) as watch:
        page = first
        while not (page.events or page.has_more or state.notifier.stopping):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            watch.clear()
            page = await run_in_threadpool(read, str(page.next_after))
            if not (page.events or page.has_more):
                await watch.wait(min(left, SETTLED_SECONDS))
    return ActivityList(
        events=[strict_json.loads(text) for _, text in page.events],
        next_after=str(page.next_after),
        has_more=page.has_more,
    )


def _read(state: AppState, project: str | None, limit: int, after: str) -> ActivityPage:
    with state.database.read() as transaction:
        if after == NOW:
            return ActivityPage([], activity.end(transaction), False)
        cursor = Cursor.parse(after) if after else activity.START
        return activity.page(transaction, cursor, limit, project)


async def _stream(
    state: AppState, caller: Caller, read: partial[ActivityPage], page: ActivityPage
) -> AsyncIterator[str]:
    yield f"retry: {sse.RECONNECT_MS}\n\n"
    silent_since = time.monotonic()
    with state.notifier.watch(activity.TOPIC) as watch:
        while await sse.is_still_known(state, caller) and not state.notifier.stopping:
            if page.events:
                yield "".join(
                    f"id: {cursor}\nevent: {activity.KIND}\ndata: {text}\n\n"
                    for cursor, text in page.events
                )
                silent_since = time.monotonic()
            watch.clear()
            page = await run_in_threadpool(read, str(page.next_after))
            if page.events or page.has_more:
                continue
            if time.monotonic() - silent_since >= state.settings.ping_seconds:
                # The id moves on over what the caller may not read.
                yield f"id: {page.next_after}\n: ping\n\n"
                silent_since = time.monotonic()
            await watch.wait(min(SETTLED_SECONDS, state.settings.ping_seconds))
