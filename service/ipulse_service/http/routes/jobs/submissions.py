"""Routes that submit a job or validate a spec."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from ipulse.idempotency import check_key
from ipulse.spec import AnySpec, CodeSpec, ExperimentSpec, JobSpec, brief_json, parse_spec
from ipulse_core.limits import HIGHEST_PRIORITY, LOWEST_PRIORITY
from ipulse_core.registry.versions import raise_to_2
from ipulse_service.agents.needs import Needs
from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import DIGITS, CurrentCaller, JobId, State
from ipulse_service.http.payloads import BatchRoute, SpecRoute
from ipulse_service.http.responses import REPLAY_HEADERS, job_detail, mark_replay
from ipulse_service.http.routes.jobs.submit_query import SubmitQuery
from ipulse_service.http.schemas.jobs.batches import BatchedJob, BatchRequest, SubmittedBatch
from ipulse_service.http.schemas.jobs.job_requests import (
    MAX_SECONDS,
    ContinueRequest,
)
from ipulse_service.http.schemas.jobs.jobs import JobDetail
from ipulse_service.http.schemas.jobs.plans import PlannedJob
from ipulse_service.http.schemas.jobs.step_cycles import StepCyclesInfo
from ipulse_service.http.schemas.jobs.validated_spec import (
    FitInfo,
    ValidatedSpec,
    nir_targets_of,
)
from ipulse_service.http.schemas.quotas import QuotaInfo
from ipulse_service.http.state import AppState
from ipulse_service.jobs import dependencies, store, submission
from ipulse_service.jobs.queue import executables
from ipulse_service.jobs.queue.last_activity import last_activity
from ipulse_service.jobs.queue.work import work_of
from ipulse_service.jobs.start import child_names, starting
from ipulse_service.jobs.start.starting import NothingToStartFrom, StartRequest
from ipulse_service.jobs.submission import Submission, Submitted
from ipulse_service.jobs.submitted_text import SubmittedText
from ipulse_service.ops import in_specs
from ipulse_service.quotas import store as quota_store

RETRY_AFTER_SECONDS = 1  # of a job that was just accepted

_SPEC_ERRORS = problems.documented(404, 409, 413, 415, 422)
_SUBMISSION = {202: {"headers": REPLAY_HEADERS}, **_SPEC_ERRORS}

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=SpecRoute)
batch_router = APIRouter(prefix="/v1", tags=["jobs"], route_class=BatchRoute)


async def _body_text(request: Request) -> SubmittedText:
    """Returns the body of a request as it was sent."""
    return SubmittedText("json", (await request.body()).decode())


@router.post(
    "/jobs",
    status_code=202,
    summary="Submit a job",
    response_description="The job is stored.",
    responses=_SUBMISSION,
)
def submit_job(
    spec: JobSpec,
    state: State,
    caller: CurrentCaller,
    response: Response,
    query: Annotated[SubmitQuery, Query()],
    text: Annotated[SubmittedText, Depends(_body_text)],
    idempotency_key: Annotated[
        str | None, Header(description="Makes a repeated submission return the same job.")
    ] = None,
) -> JobDetail:
    """Submits a spec. The job is stored on disk before the response is sent, and will run.

    Within 24 hours the same Idempotency-Key returns the same job. A spec with other values is
    refused; fields with their defaults may be written or left out. While another request with the
    key is in progress, the response is 409 with Retry-After. A Poplar program and
    a custom op need the role developer and a token with the scope `code`.
    """
    _check_rights(caller, spec)
    key = None if idempotency_key is None else check_key(idempotency_key)
    wanted = Submission(
        submission.resolve(spec),
        query.options(),
        query.attributes(),
        query.start(),
        query.dependencies(),
        text,
    )
    submitted = submission.submit(state.database, wanted, caller.name, key)
    return _accepted(state, submitted, response)


@batch_router.post(
    "/jobs:batch",
    status_code=202,
    summary="Submit several jobs",
    response_description="All of the jobs are stored.",
    responses=_SUBMISSION,
)
def submit_batch(
    request: BatchRequest,
    state: State,
    caller: CurrentCaller,
    response: Response,
    idempotency_key: Annotated[
        str | None, Header(description="Makes a repeated submission return the same jobs.")
    ] = None,
) -> SubmittedBatch:
    """Submits up to 500 specs, all or none. The problems of all are returned, each with its place.

    A job may wait for an earlier one of the request by its pointer, such as `/jobs/0`. An
    Idempotency-Key is that of all the jobs. See `POST /v1/jobs`.
    """
    for job in request.jobs:
        _check_rights(caller, job.spec)
    key = None if idempotency_key is None else check_key(idempotency_key)
    wanted = [job.submission() for job in request.jobs]
    views, replay = submission.submit_all(state.database, wanted, caller.name, key)
    log.bind(jobs=str(len(views)))
    mark_replay(response, replay)
    return SubmittedBatch(
        jobs=[
            BatchedJob(
                pointer=dependencies.job_pointer(index),
                job=JobDetail.from_view(view, state.database.access),
            )
            for index, view in enumerate(views)
        ]
    )


@router.post(
    "/jobs/{job_id}/continue",
    status_code=202,
    summary="Train a job for more epochs",
    response_description="The new job is stored.",
    responses=_SUBMISSION,
)
def continue_job(
    job_id: JobId,
    request: ContinueRequest,
    state: State,
    caller: CurrentCaller,
    response: Response,
    idempotency_key: Annotated[
        str | None, Header(description="Makes a repeated request return the same job.")
    ] = None,
) -> JobDetail:
    """Submits a job that trains on from the last checkpoint of a job that has ended.

    The spec is the same but for the number of epochs, and the job is named after the other one:
    `base+2`, `base+3` and so on. On one kind of device and with a constant
    learning rate the result is that of one longer training, bit for bit.
    """
    key = None if idempotency_key is None else check_key(idempotency_key)
    with state.database.read() as transaction:
        parent = store.get(transaction, job_id)
        _ = caller.access.project  # whether it may add a job comes before what the other one lacks
        epochs = starting.checkpoint_epoch(transaction, parent) + request.epochs
        document = json.loads(store.spec_of(transaction, parent))
    if "training" not in document:
        raise NothingToStartFrom(f"the job {job_id} trains no network")
    document["training"]["epochs"] = epochs
    document["name"] = child_names.base_of(parent.name)
    spec = parse_spec(document)
    _check_rights(caller, spec)
    resolved = submission.resolve(spec)
    wanted = Submission(resolved, start=StartRequest(job_id, "continue"))
    submitted = submission.submit(state.database, wanted, caller.name, key)
    return _accepted(state, submitted, response)


@router.post(
    "/jobs:validate",
    summary="Validate a spec",
    response_description="The spec is valid.",
    responses=_SPEC_ERRORS,
)
def validate_spec(spec: JobSpec, state: State) -> ValidatedSpec:
    """Checks a spec as a submission does, but not uploaded weights or programs. Stores nothing."""
    with state.database.read() as transaction:
        resolved = submission.check_admission(transaction, submission.resolve(spec))
    fit = FitInfo.of_spec(resolved.spec)
    return ValidatedSpec(
        spec=resolved.value,
        spec_version_2=raise_to_2(resolved.value),
        brief=brief_json(resolved.value),
        spec_sha256=resolved.sha256,
        fit=fit,
        nir_targets=nir_targets_of(resolved.spec),
    )


@router.post(
    "/jobs:plan",
    summary="Plan a job",
    response_description="The spec is valid.",
    responses=_SPEC_ERRORS,
)
def plan_job(
    spec: JobSpec,
    state: State,
    priority: Annotated[
        int,
        Query(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY, description="Of the job."),
        DIGITS,
    ] = 0,
    run_seconds: Annotated[
        int | None,
        Query(ge=1, le=MAX_SECONDS, description="Limit of its run in seconds."),
        DIGITS,
    ] = None,
) -> PlannedJob:
    """Checks a spec as a submission does, and says when the job would start; stores nothing."""
    with state.database.read() as transaction:
        resolved = submission.check_admission(transaction, submission.resolve(spec))
        needs = Needs.of_spec(resolved.spec)
        plan = state.queue_view.plan(
            transaction, needs, priority, work_of(resolved.spec), run_seconds
        )
        is_cached = executables.is_cached(transaction, resolved.value, needs)
        access = transaction.access
        limits = quota_store.limits_of(transaction, access.preferred_project, access.name)
        quotas = QuotaInfo.of(quota_store.with_used(transaction, limits))
        last = None
        if isinstance(resolved.spec, ExperimentSpec) and resolved.spec.device.kind != "cpu":
            last = last_activity(transaction, resolved.value)
    cycles = StepCyclesInfo.of_spec(resolved.spec, last)
    return PlannedJob.from_plan(resolved, needs.data_set, plan, is_cached, quotas, cycles)


def _check_rights(caller: Caller, spec: AnySpec) -> None:
    """Raises NotPermitted for a spec that the caller's token may not submit."""
    if isinstance(spec, CodeSpec) or in_specs.names_op(spec):
        caller.access.check_submits_code(caller.access.project)


def _accepted(state: AppState, submitted: Submitted, response: Response) -> JobDetail:
    """Returns the job of a submission, and sets the headers of the response."""
    job = submitted.job
    log.bind(job=job.id)
    mark_replay(response, submitted.replay)
    detail = job_detail(response, state.database.access, submitted.view)
    response.headers["location"] = f"/v1/jobs/{job.id}"
    response.headers["retry-after"] = str(RETRY_AFTER_SECONDS)
    return detail
