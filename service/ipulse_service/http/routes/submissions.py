"""Submit a job, or ask what would become of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ipulse.idempotency import check_key
from ipulse_core import strict_json
from ipulse_service.http import log_context as log
from ipulse_service.http import payloads
from ipulse_service.http.payloads import JSONBody
from ipulse_service.http.representations import ValidationBody
from ipulse_service.http.responses import described, job_answer, json_answer
from ipulse_service.http.state import get_caller, get_state
from ipulse_service.jobs import agents, leases, submission
from ipulse_service.jobs.scheduling_options import SchedulingOptions

RETRY_AFTER_SECONDS = 1  # until the first look at a job that was just accepted

_LONGEST = 10**8  # seconds: three years
_SPEC_BODY = payloads.described("ExperimentSpec")

router = APIRouter(prefix="/v1", tags=["jobs"])


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
    "/jobs", status_code=202, responses={202: described("JobBody")}, openapi_extra=_SPEC_BODY
)
def submit(
    body: JSONBody,
    request: Request,
    query: Annotated[SubmitQuery, Query()],
    idempotency_key: Annotated[str | None, Header()] = None,
) -> Response:
    """Accepts a spec. Once answered, the job is on disk and will run.

    An Idempotency-Key finds the same job again for 24 hours; while another request with it is
    under way and takes long, 409 with Retry-After.
    """
    state = get_state(request)
    caller = get_caller(request)
    key = None if idempotency_key is None else check_key(idempotency_key)
    checked = submission.check(strict_json.loads(body))
    options = SchedulingOptions(**query.model_dump())
    submitted = submission.submit(state.database, checked, caller.name, key, options)
    log.bind(job=submitted.job.id)
    headers = {
        "location": f"/v1/jobs/{submitted.job.id}",
        "retry-after": str(RETRY_AFTER_SECONDS),
    }
    if submitted.replayed:
        headers["idempotency-replayed"] = "true"
        with state.database.read() as transaction:
            found = leases.of_job(transaction, submitted.job.pk)
        return job_answer(submitted.job, found, None, 202, headers)
    return job_answer(submitted.job, [], None, 202, headers)


@router.post("/jobs:validate", responses={200: {"model": ValidationBody}}, openapi_extra=_SPEC_BODY)
def validate(body: JSONBody, request: Request) -> Response:
    """Checks a spec as a submission would, and stores nothing."""
    state = get_state(request)
    checked = submission.check(strict_json.loads(body))
    with state.database.read() as transaction:
        agents.check_satisfiable(transaction, checked.spec.device.kind)
    return json_answer(ValidationBody(spec=checked.value, spec_sha256=checked.sha256))
