"""Submit, look at, list and cancel jobs."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ipulse import strict_json
from ipulse.errors import InvalidJSON, Problem
from ipulse.spec import ExperimentSpec, spec_to_json
from ipulse.states import JobState
from service import (
    agents,
    artifacts,
    attempts,
    deletion,
    etags,
    filters,
    leases,
    log,
    pages,
    payloads,
    preferences,
    store,
    submission,
    waiting,
)
from service.database import Transaction
from service.parts import CallerOf, Parts, PartsOf
from service.payloads import JSONBody
from service.problems import InvalidParameter
from service.representations import (
    JobBody,
    JobPageBody,
    JobSummaryBody,
    ValidationBody,
    WaitingBody,
)
from service.store import Job
from service.wishes import Wishes

DEFAULT_PAGE = 50
MAX_PAGE = 500
# Between two looks at a job: one just accepted, one that waits, one that is under way.
RETRY_AFTER_SECONDS, IDLE_RETRY_SECONDS, RETRY_SECONDS = 1, 5, 2

IfMatch = Annotated[str | None, Header()]

_SPEC_BODY = payloads.described(ExperimentSpec)

router = APIRouter(prefix="/v1", tags=["jobs"])


_LONGEST = 10**8  # seconds: three years
_LABEL = r"^[^=\"\\\x00-\x1f]+=[^\x00-\x1f]*$"
_FIELD = r"^(/[^=/\"\\\x00-\x1f]+)+=[^\x00-\x1f]*$"


class JobQuery(BaseModel):
    """Which jobs, and how many at once."""

    model_config = ConfigDict(extra="forbid")

    page_size: int = Field(
        default=0, ge=0, description=f"0 means {DEFAULT_PAGE}; at most {MAX_PAGE} are shown."
    )
    page_token: str = Field(default="", max_length=256)
    state: list[JobState] = Field(default=[], max_length=len(JobState))
    device: list[Annotated[str, Field(max_length=32)]] = Field(default=[], max_length=16)
    label: list[Annotated[str, Field(pattern=_LABEL, max_length=600)]] = Field(
        default=[],
        max_length=16,
        description="NAME=VALUE of the spec's metadata.",
        examples=[["team=audio"]],
    )
    field: list[Annotated[str, Field(pattern=_FIELD, max_length=600)]] = Field(
        default=[],
        max_length=16,
        description="POINTER=VALUE: a JSON pointer into the spec, and the JSON value or the text "
        "that is there.",
        examples=[["/training/epochs=30"]],
    )
    created_after: AwareDatetime | None = Field(default=None, description="At or after.")
    created_before: AwareDatetime | None = Field(default=None, description="Before.")

    def filter(self) -> filters.JobFilter:
        return filters.JobFilter(
            states=tuple(self.state),
            devices=tuple(self.device),
            labels=tuple(_label(text) for text in self.label),
            fields=tuple(_spec_field(text) for text in self.field),
            created_after=_milliseconds(self.created_after),
            created_before=_milliseconds(self.created_before),
        )


class SubmitQuery(BaseModel):
    """How urgent a job is, and how long it may take, in seconds on the service's clock."""

    model_config = ConfigDict(extra="forbid")

    priority: int = Field(default=0, ge=-100, le=100, description="The greater goes first.")
    queue_seconds: int | None = Field(
        default=None, ge=1, le=_LONGEST, description="Until an agent takes it."
    )
    run_seconds: int | None = Field(
        default=None, ge=1, le=_LONGEST, description="With agents, all attempts together."
    )
    total_seconds: int | None = Field(
        default=None, ge=1, le=_LONGEST, description="From submission to end."
    )


@router.post(
    "/jobs", status_code=202, responses={202: {"model": JobBody}}, openapi_extra=_SPEC_BODY
)
def submit(
    body: JSONBody,
    parts: PartsOf,
    caller: CallerOf,
    query: Annotated[SubmitQuery, Query()],
    idempotency_key: Annotated[str | None, Header()] = None,
) -> Response:
    """Accepts a spec. Once answered, the job is on disk and will run.

    An Idempotency-Key finds the same job again for 24 hours.
    """
    key = None if idempotency_key is None else submission.check_key(idempotency_key)
    checked = submission.check(strict_json.loads(body))
    wishes = Wishes(**query.model_dump())
    submitted = submission.submit(parts.database, checked, caller.name, key, wishes)
    log.know(job=submitted.job.id)
    headers = {
        "location": f"/v1/jobs/{submitted.job.id}",
        "retry-after": str(RETRY_AFTER_SECONDS),
    }
    if submitted.replayed:
        headers["idempotency-replayed"] = "true"
        with parts.database.read() as transaction:
            found = leases.of_jobs(transaction, [submitted.job.pk])[submitted.job.pk]
        return _answer(submitted.job, found, 202, headers)
    return _answer(submitted.job, [], 202, headers)


@router.post("/jobs:validate", responses={200: {"model": ValidationBody}}, openapi_extra=_SPEC_BODY)
def validate(body: JSONBody, parts: PartsOf) -> Response:
    """Checks a spec as a submission would, and stores nothing."""
    checked = submission.check(strict_json.loads(body))
    with parts.database.read() as transaction:
        agents.check_satisfiable(transaction, checked.spec.device.kind)
    return _json(ValidationBody(spec=spec_to_json(checked.spec), spec_sha256=checked.sha256))


@router.get("/jobs", responses={200: {"model": JobPageBody}})
def list_jobs(query: Annotated[JobQuery, Query()], parts: PartsOf) -> Response:
    """Jobs, newest first.

    A page by `label` or `field` looks into 10,000 jobs at most: it may be short, or empty, and
    yet have a `next_page_token`.
    """
    wanted = query.filter()
    shown_by = repr(wanted)
    key = parts.tokens.page_key
    before = pages.unseal(key, query.page_token, shown_by) if query.page_token else None
    size = min(query.page_size, MAX_PAGE) or DEFAULT_PAGE
    with parts.database.read() as transaction:
        shown, last = store.page(transaction, before, size, wanted)
        tried = leases.of_jobs(transaction, [job.pk for job in shown])
    following = "" if last is None else pages.seal(key, last, shown_by)
    bodies = [JobSummaryBody.of(job, tried[job.pk]) for job in shown]
    return _json(JobPageBody(jobs=bodies, next_page_token=following))


@router.get("/jobs/{job_id}", responses={200: {"model": JobBody}, 304: {}})
async def get_job(
    job_id: str,
    parts: PartsOf,
    if_none_match: Annotated[str | None, Header()] = None,
    prefer: Annotated[str, Header()] = "",
) -> Response:
    """One job. With `Prefer: wait=N` the answer waits, up to 30 s, until there is news.

    News is any other version than that of If-None-Match; without that header, the job's end.
    """
    log.know(job=job_id)
    seconds = preferences.wait_seconds(prefer)
    job = await run_in_threadpool(_read, parts, job_id)
    if seconds and not _is_news(job, if_none_match):
        job = await _wait(parts, job, if_none_match, seconds)
    headers = preferences.applied(seconds)
    if etags.matches(if_none_match, job.version):
        return Response(status_code=304, headers={"etag": etags.quoted(job.version), **headers})
    return await run_in_threadpool(_show, parts, job.id, headers)


@router.post("/jobs/{job_id}/cancel", responses={200: {"model": JobBody}})
def cancel(job_id: str, parts: PartsOf, if_match: IfMatch = None) -> Response:
    """Asks a job to stop. Asking twice, or after its end, changes nothing."""
    return _change(parts, job_id, if_match, attempts.cancel)


@router.post("/jobs/{job_id}/pause", responses={200: {"model": JobBody}})
def pause(job_id: str, parts: PartsOf, if_match: IfMatch = None) -> Response:
    """Stops a job for now, at a checkpoint if it has begun. It keeps its place in no queue."""
    return _change(parts, job_id, if_match, attempts.pause)


@router.post("/jobs/{job_id}/resume", responses={200: {"model": JobBody}})
def resume(job_id: str, parts: PartsOf, if_match: IfMatch = None) -> Response:
    """Queues a paused job again; it goes on from its last checkpoint."""
    return _change(parts, job_id, if_match, attempts.resume)


@router.delete("/jobs/{job_id}", status_code=204)
def delete(job_id: str, parts: PartsOf, if_match: IfMatch = None) -> Response:
    """Removes a job that has ended: its events, its files, and its idempotency key."""
    log.know(job=job_id)
    with parts.database.write() as transaction:
        job = store.get(transaction, job_id)
        etags.require(if_match, job.version)
        digests = deletion.delete_job(transaction, job)
    for sha256 in digests:
        artifacts.forget(parts.database, parts.blobs, sha256)
    return Response(status_code=204)


async def _wait(parts: Parts, job: Job, known: str | None, seconds: float) -> Job:
    until = time.monotonic() + seconds
    with parts.changes.watch(job.id) as watch:
        while True:
            watch.clear()
            job = await run_in_threadpool(_read, parts, job.id)
            left = until - time.monotonic()
            if _is_news(job, known) or left <= 0 or parts.changes.stopping:
                return job
            await watch.wait(left)


def _is_news(job: Job, known: str | None) -> bool:
    if known is None:
        return job.state.is_terminal
    return not etags.matches(known, job.version) or job.state.is_terminal


def _change(
    parts: Parts, job_id: str, if_match: str | None, change: Callable[[Transaction, Job], Job]
) -> Response:
    log.know(job=job_id)
    with parts.database.write() as transaction:
        job = store.get(transaction, job_id)
        etags.require(if_match, job.version)
        change(transaction, job)
    return _show(parts, job_id, {})


def _read(parts: Parts, job_id: str) -> Job:
    with parts.database.read() as transaction:
        return store.get(transaction, job_id)


def _show(parts: Parts, job_id: str, headers: dict[str, str]) -> Response:
    with parts.database.read() as transaction:
        job = store.get(transaction, job_id)
        tried = leases.of_jobs(transaction, [job.pk])[job.pk]
        waits_for = waiting.of_job(transaction, job)
    return _answer(job, tried, headers=headers, waits_for=waits_for)


def _label(text: str) -> filters.Field:
    name, _, value = text.partition("=")
    return filters.Field((name,), value)


def _spec_field(text: str) -> filters.Field:
    pointer, _, written = text.partition("=")
    path = tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    try:
        value = strict_json.loads(written.encode())
    except InvalidJSON:
        value = written
    if isinstance(value, (dict, list)):
        detail = "compares with a number, a text, true, false or null"
        raise InvalidParameter([Problem("/query/field", "wrong_form", detail)])
    return filters.Field(path, value)


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


def _answer(
    job: Job,
    tried: list[leases.Attempt],
    status: int = 200,
    headers: dict[str, str] | None = None,
    waits_for: waiting.Waiting | None = None,
) -> Response:
    own = {"etag": etags.quoted(job.version)}
    if not job.state.is_terminal:
        idle = job.state in (JobState.QUEUED, JobState.RETRY_WAIT, JobState.PAUSED)
        own["retry-after"] = str(IDLE_RETRY_SECONDS if idle else RETRY_SECONDS)
    body = JobBody.of(job, tried)
    if waits_for is not None:
        body.waiting_on = WaitingBody.of(waits_for)
    return _json(body, status, {**own, **(headers or {})})


def _json(body: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body.model_dump_json(), status, headers, "application/json")
