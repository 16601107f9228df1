"""Route of a job's log as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response, StreamingResponse

from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.dependencies import JobId, State
from ipulse_service.http.state import AppState
from ipulse_service.jobs import events, store

EVENTS_PER_READ = 512  # of up to 16 KiB; a longer log is streamed

router = APIRouter(prefix="/v1", tags=["events"])


@router.get(
    "/jobs/{job_id}/log",
    response_class=PlainTextResponse,
    summary="Read a job's log",
    response_description="The log.",
    responses=problems.documented(404),
)
def read_log(job_id: JobId, state: State) -> Response:
    """Returns the log of all attempts so far as plain text.

    It consists of the messages of the `log` events, which also contain time, stream and level.
    """
    log.bind(job=job_id)
    with state.database.read() as transaction:
        job = store.get(transaction, job_id)
        first = events.log(transaction, job.pk, 0, min(EVENTS_PER_READ, job.last_seq))
    if job.last_seq <= EVENTS_PER_READ:
        return PlainTextResponse(first)
    return StreamingResponse(
        _parts(state, job.pk, first, job.last_seq), media_type=PlainTextResponse.media_type
    )


def _parts(state: AppState, job_pk: int, first: str, last_seq: int) -> Iterator[str]:
    """Yields the log up to the event that was the last at the first read.

    A job that runs may write as fast as the log is read.
    """
    yield first
    for after in range(EVENTS_PER_READ, last_seq, EVENTS_PER_READ):
        with state.database.read() as transaction:
            yield events.log(transaction, job_pk, after, min(after + EVENTS_PER_READ, last_seq))
