"""Route of a job's events, as pages or as a stream."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ipulse_core.limits import MAX_INTEGER
from ipulse_service.http import log_context as log
from ipulse_service.http import problems, sse
from ipulse_service.http.dependencies import CurrentCaller, JobId, State
from ipulse_service.http.schemas.events import EventList
from ipulse_service.jobs import events

DEFAULT_PAGE = 500
MAX_PAGE = 1000

_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {sse.MEDIA_TYPE: {}}}}

router = APIRouter(prefix="/v1", tags=["events"])


class EventQuery(BaseModel):
    """Query parameters of a job's events."""

    model_config = ConfigDict(extra="forbid")

    after: int = Field(
        default=0, ge=0, le=MAX_INTEGER, description="Return the events after this number."
    )
    limit: int = Field(
        default=0, ge=0, description=f"0 means {DEFAULT_PAGE}; at most {MAX_PAGE} are returned."
    )
    kind: list[Literal[events.KINDS]] = Field(  # type: ignore[valid-type]
        default=[], max_length=len(events.KINDS), description="Return only these kinds of events."
    )


@router.get(
    "/jobs/{job_id}/events",
    response_model=EventList,
    summary="List or stream a job's events",
    response_description="A page of events, or a stream.",
    responses={**_STREAM, **problems.documented(404, 409)},
)
async def list_events(
    job_id: JobId,
    query: Annotated[EventQuery, Query()],
    state: State,
    caller: CurrentCaller,
    accept: Annotated[str, Header(description=f"`{sse.MEDIA_TYPE}` asks for a stream.")] = "",
    last_event_id: Annotated[
        str, Header(description="The id of the last event that the client of a stream has.")
    ] = "",
) -> EventList | StreamingResponse:
    """Returns a page of events, or with `Accept: text/event-stream` a stream until the job's end.

    A stream continues after `Last-Event-ID`, or without that header after `after`. It ends early
    when the token expires or is revoked. An event's id also contains its time: if the job's
    history was replaced since, as by a restored backup, the response is 409 `other_history`.
    """
    log.bind(job=job_id)
    limit = min(query.limit, MAX_PAGE) or DEFAULT_PAGE
    selection = sse.EventSelection(job_id, limit, query.kind)
    if sse.MEDIA_TYPE not in accept.lower():
        after = sse.Position(query.after)
        read = await run_in_threadpool(sse.read_events, state, selection, after)
        return EventList(
            events=[json.loads(event.text) for event in read.page.events],
            next_after=read.page.next_after,
            end=read.end,
        )
    after = sse.parse_event_id(last_event_id) if last_event_id else sse.Position(query.after)
    read = await run_in_threadpool(sse.read_events, state, selection, after)
    return StreamingResponse(
        sse.stream(state, caller, selection, read), headers=sse.HEADERS, media_type=sse.MEDIA_TYPE
    )
