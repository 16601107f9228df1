"""Route on which an agent downloads the data set of a job that it holds."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import NotFound
from ipulse_service.datasets import versions
from ipulse_service.files.stored import ArtifactRow
from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import KNOWN_AGENT, AttemptId, Fence, State
from ipulse_service.http.files import file_response
from ipulse_service.http.routes.data.dataset_versions import DOWNLOAD, as_file
from ipulse_service.http.state import AppState
from ipulse_service.jobs import losses, store

router = APIRouter(
    prefix="/v1/worker/attempts/{attempt_id}", tags=["worker"], dependencies=KNOWN_AGENT
)


@router.get(
    "/dataset",
    response_class=Response,
    summary="Download the data set of an attempt",
    responses={**DOWNLOAD, **problems.documented(409)},
)
@open_to("worker")
async def download_dataset(
    attempt_id: AttemptId, fence: Fence, state: State, request: Request
) -> Response:
    """Returns the uploaded data that the attempt's job needs, or one range of their bytes."""
    log.bind(attempt=attempt_id)
    file = await run_in_threadpool(_get, state, attempt_id, fence)
    return await file_response.respond(
        request, file, state.blobs, state.file_threads, "attachment", True
    )


def _get(state: AppState, attempt_id: str, fence: str) -> ArtifactRow:
    with state.database.read() as transaction:
        attempt = losses.hold(transaction, attempt_id, fence, state.settings.lease_seconds)
        job = store.get_by_pk(transaction, attempt.job_pk)
        version = None
        if job.dataset_sha256 is not None:
            version = versions.with_content(transaction, job.dataset_sha256)
    if version is None:
        raise NotFound("the job needs no uploaded data")
    return as_file(version)
