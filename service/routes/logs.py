"""What a job's programs wrote, as text to read."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from service import events, log, store
from service.database import Transaction
from service.events import Lines
from service.parts import Parts, parts_of

LINES_AT_ONCE = 16_384  # a log that is longer than its quota usually allows is read in pieces

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
    parts = parts_of(request)
    log.know(job=job_id)
    with parts.database.read() as transaction:
        pk = store.get(transaction, job_id).pk
        first = _some(transaction, pk, 0)
    if first.count < LINES_AT_ONCE:
        return Response(first.text, media_type=_MEDIA_TYPE)
    return StreamingResponse(_on_from(parts, pk, first), media_type=_MEDIA_TYPE)


def _on_from(parts: Parts, job_pk: int, some: Lines) -> Iterator[str]:
    yield some.text
    # A piece that is not full is the last one: a job that runs may write for as long as we read.
    while some.count == LINES_AT_ONCE:
        with parts.database.read() as transaction:
            some = _some(transaction, job_pk, some.next_after)
        yield some.text


def _some(transaction: Transaction, job_pk: int, after: int) -> Lines:
    return events.log(transaction, job_pk, after, LINES_AT_ONCE)
