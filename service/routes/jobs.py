"""Submit, look at, list and cancel jobs."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ipulse import strict_json
from ipulse.spec import ExperimentSpec, spec_to_json
from ipulse.states import JobState
from service import attempts, etags, leases, log, pages, payloads, preferences, store, submission
from service.parts import CallerOf, Parts, PartsOf
from service.payloads import JSONBody
from service.representations import (
    JobBody,
    JobPageBody,
    JobSummaryBody,
    ValidationBody,
)
from service.store import Job

DEFAULT_PAGE = 50
MAX_PAGE = 500
RETRY_AFTER_SECONDS = 1  # between two looks at a job that was just accepted

_EXAMPLE: dict[str, Any] = {
    "version": 1,
    "name": "digits",
    "seed": 1,
    "data": {"kind": "digits"},
    "network": {
        "layers": [
            {"neurons": 128, "second_threshold": 0.5},
            {"neurons": 128, "second_threshold": 0.5},
        ]
    },
    "training": {"epochs": 30},
    "device": {"kind": "cpu"},
}
_SPEC_BODY = payloads.described(ExperimentSpec, digits=_EXAMPLE)

router = APIRouter(prefix="/v1", tags=["jobs"])


class JobQuery(BaseModel):
    """Which jobs, and how many at once."""

    model_config = ConfigDict(extra="forbid")

    page_size: int = Field(
        default=0, ge=0, description=f"0 means {DEFAULT_PAGE}; at most {MAX_PAGE} are shown."
    )
    page_token: str = Field(default="", max_length=256)
    state: list[JobState] = Field(default=[], max_length=len(JobState))


@router.post(
    "/jobs", status_code=202, responses={202: {"model": JobBody}}, openapi_extra=_SPEC_BODY
)
def submit(
    body: JSONBody,
    parts: PartsOf,
    caller: CallerOf,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> Response:
    """Accepts a spec. Once answered, the job is on disk and will run."""
    key = None if idempotency_key is None else submission.check_key(idempotency_key)
    checked = submission.check(strict_json.loads(body))
    submitted = submission.submit(parts.database, checked, caller.name, key)
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
def validate(body: JSONBody) -> Response:
    """Checks a spec as a submission would, and stores nothing."""
    checked = submission.check(strict_json.loads(body))
    return _json(ValidationBody(spec=spec_to_json(checked.spec), spec_sha256=checked.sha256))


@router.get("/jobs", responses={200: {"model": JobPageBody}})
def list_jobs(query: Annotated[JobQuery, Query()], parts: PartsOf) -> Response:
    """Jobs, newest first."""
    filters = ",".join(sorted(state.value for state in query.state))
    key = parts.tokens.page_key
    before = pages.unseal(key, query.page_token, filters) if query.page_token else None
    size = min(query.page_size, MAX_PAGE) or DEFAULT_PAGE
    with parts.database.read() as transaction:
        found = store.page(transaction, before, size + 1, query.state)
        shown = found[:size]
        tried = leases.of_jobs(transaction, [job.pk for job in shown])
    following = pages.seal(key, shown[-1].pk, filters) if len(found) > size else ""
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
def cancel(job_id: str, parts: PartsOf) -> Response:
    """Asks a job to stop. Asking twice, or after its end, changes nothing."""
    log.know(job=job_id)
    with parts.database.write() as transaction:
        job = attempts.cancel(transaction, store.get(transaction, job_id))
        tried = leases.of_jobs(transaction, [job.pk])[job.pk]
    return _answer(job, tried)


async def _wait(parts: Parts, job: Job, known: str | None, seconds: float) -> Job:
    until = time.monotonic() + seconds
    with parts.changes.watch(job.id) as watch:
        while True:
            watch.clear()
            job = await run_in_threadpool(_read, parts, job.id)
            left = until - time.monotonic()
            if _is_news(job, known) or left <= 0 or parts.changes.stopping:
                return job
            await watch.wait(min(left, parts.settings.poll_seconds))


def _is_news(job: Job, known: str | None) -> bool:
    if known is None:
        return job.state.is_terminal
    return not etags.matches(known, job.version) or job.state.is_terminal


def _read(parts: Parts, job_id: str) -> Job:
    with parts.database.read() as transaction:
        return store.get(transaction, job_id)


def _show(parts: Parts, job_id: str, headers: dict[str, str]) -> Response:
    with parts.database.read() as transaction:
        job = store.get(transaction, job_id)
        tried = leases.of_jobs(transaction, [job.pk])[job.pk]
    return _answer(job, tried, headers=headers)


def _answer(
    job: Job,
    tried: list[leases.Attempt],
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    tag = {"etag": etags.quoted(job.version)}
    return _json(JobBody.of(job, tried), status, {**tag, **(headers or {})})


def _json(body: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body.model_dump_json(), status, headers, "application/json")
