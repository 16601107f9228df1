"""Route of a job's events, as pages or as a stream."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import Problem
from ipulse_core.limits import MAX_INTEGER
from ipulse_service.http import log_context as log
from ipulse_service.http import problems, sse
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import DIGITS, CurrentCaller, JobId, State
from ipulse_service.http.problems import InvalidParameter
from ipulse_service.http.schemas.jobs.events import EventList
from ipulse_service.http.state import AppState
from ipulse_service.jobs import events

DEFAULT_PAGE = 500
MAX_PAGE = 1000

_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {sse.MEDIA_TYPE: {}}}}
_ERRORS = problems.documented(404, 409)

router = APIRouter(prefix="/v1", tags=["events"])

LastEventId = Annotated[
    str, Header(description="The id of the last event that the client of a stream has.")
]


class EventStream(StreamingResponse):
    """A stream of server-sent events."""

    media_type = sse.MEDIA_TYPE


class StreamQuery(BaseModel):
    """Query parameters of the stream of a job's events."""

    model_config = ConfigDict(extra="forbid")

    after: Annotated[int, Field(ge=0, le=MAX_INTEGER), DIGITS] = Field(
        default=0, description="Return the events after this number."
    )
    kind: list[Literal[events.KINDS]] = Field(  # type: ignore[valid-type]
        default=[], max_length=len(events.KINDS), description="Return only these kinds of events."
    )


class EventQuery(StreamQuery):
    """Query parameters of a job's events."""

    limit: Annotated[int, Field(ge=0), DIGITS] = Field(
        default=0, description=f"0 means {DEFAULT_PAGE}; at most {MAX_PAGE} are returned."
    )
    last: bool = Field(
        default=False,
        description="Return the last events instead of the first ones; not for a stream.",
    )


@router.get(
    "/jobs/{job_id}/events",
    response_model=EventList,
    summary="List or stream a job's events",
    response_description="A page of events, or a stream.",
    responses={**_STREAM, **_ERRORS},
)
async def list_events(
    job_id: JobId,
    query: Annotated[EventQuery, Query()],
    state: State,
    caller: CurrentCaller,
    accept: Annotated[str, Header(description=f"`{sse.MEDIA_TYPE}` asks for a stream.")] = "",
    last_event_id: LastEventId = "",
) -> EventList | StreamingResponse:
    """Returns a page of events, or with `Accept: text/event-stream` a stream until the job's end.

    The stream is that of `/v1/jobs/{job_id}/events/stream`.
    """
    limit = min(query.limit, MAX_PAGE) or DEFAULT_PAGE
    if sse.MEDIA_TYPE in accept.lower():
        if query.last:
            detail = "a stream has all events; leave it out, or do not ask for a stream"
            raise InvalidParameter([Problem("/query/last", "contradiction", detail)])
        return await _stream(job_id, query, limit, state, caller, last_event_id)
    log.bind(job=job_id)
    selection = sse.EventSelection(job_id, limit, query.kind, query.last)
    after = sse.Position(query.after)
    read = await run_in_threadpool(sse.read_events, state, selection, after)
    return EventList(
        events=[json.loads(event.text) for event in read.page.events],
        next_after=read.page.next_after,
        end=read.end,
    )


@router.get(
    "/jobs/{job_id}/events/stream",
    response_class=EventStream,
    summary="Stream a job's events",
    response_description="The stream.",
    responses={**_STREAM, **_ERRORS},
)
async def stream_events(
    job_id: JobId,
    query: Annotated[StreamQuery, Query()],
    state: State,
    caller: CurrentCaller,
    last_event_id: LastEventId = "",
) -> StreamingResponse:
    """Returns a job's events as server-sent events until the job's end, which is the event `end`.

    A stream continues after `Last-Event-ID`, or without that header after `after`. It ends early
    when the token expires or is revoked. An event's id also contains its time: if the job's
    history was replaced since, as by a restored backup, the response is 409 `other_history`.
    """
    return await _stream(job_id, query, DEFAULT_PAGE, state, caller, last_event_id)


async def _stream(
    job_id: str,
    query: StreamQuery,
    limit: int,
    state: AppState,
    caller: Caller,
    last_event_id: str,
) -> StreamingResponse:
    log.bind(job=job_id)
    selection = sse.EventSelection(job_id, limit, query.kind)
    after = sse.parse_event_id(last_event_id) if last_event_id else sse.Position(query.after)
    read = await run_in_threadpool(sse.read_events, state, selection, after)
    return EventStream(sse.stream(state, caller, selection, read), headers=sse.HEADERS)
