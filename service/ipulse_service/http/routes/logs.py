"""What a job's programs wrote, as text to read."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from ipulse_service.http import log_context as log
from ipulse_service.http.state import AppState, get_state
from ipulse_service.jobs import events, store

EVENTS_AT_ONCE = 16_384  # a log that is longer than its quota usually allows is read in pieces

_MEDIA_TYPE = "text/plain; charset=utf-8"

router = APIRouter(prefix="/v1", tags=["events"])


@router.get(
    "/jobs/{job_id}/log",
    responses={200: {"content": {"text/plain": {}}}},
    response_class=Response,
)
def read_log(job_id: str, request: Request) -> Response:
    """The log as plain text, of all attempts, as far as it goes now.

    It is the messages of the events of the kind `log`; those say besides when a line was written,
    on which stream, and how bad it is.
    """
    state = get_state(request)
    log.bind(job=job_id)
    with state.database.read() as transaction:
        job = store.get(transaction, job_id)
        first = events.log(transaction, job.pk, 0, min(EVENTS_AT_ONCE, job.last_seq))
    if job.last_seq <= EVENTS_AT_ONCE:
        return Response(first, media_type=_MEDIA_TYPE)
    return StreamingResponse(_pieces(state, job.pk, first, job.last_seq), media_type=_MEDIA_TYPE)


def _pieces(state: AppState, job_pk: int, first: str, last_seq: int) -> Iterator[str]:
    """To the event that was the last when the first piece was read: a job that runs may write for
    as long as we read."""
    yield first
    for after in range(EVENTS_AT_ONCE, last_seq, EVENTS_AT_ONCE):
        with state.database.read() as transaction:
            yield events.log(transaction, job_pk, after, min(after + EVENTS_AT_ONCE, last_seq))
