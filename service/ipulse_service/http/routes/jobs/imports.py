"""The route that imports a job from an archive."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from ipulse_service.datasets import uploads
from ipulse_service.datasets.uploads import UploadRow
from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.responses import job_detail
from ipulse_service.http.schemas.jobs.job_requests import ImportRequest
from ipulse_service.http.schemas.jobs.jobs import JobDetail
from ipulse_service.http.state import AppState
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.job_view import JobView

_KNOWN: dict[int | str, dict[str, Any]] = {
    200: {"model": JobDetail, "description": "The job was imported from this archive before."},
    **problems.documented(404, 409, 413, 415, 422),
}

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=JSONRoute)


@router.post(
    "/jobs:import",
    status_code=201,
    summary="Import a job",
    response_description="The job is stored.",
    responses=_KNOWN,
)
async def import_job(
    request: ImportRequest, state: State, caller: CurrentCaller, response: Response
) -> JobDetail:
    """Imports a job that has ended from an archive of `ipulse export archive`.

    The job keeps its id, times, events and files, and is marked by `imported`. All of the archive
    is verified first. 409 if the service has another job of this id.
    """
    upload = await run_in_threadpool(_upload, state, request.upload_id)
    log.bind(upload=upload.id)
    job, is_new = await state.reader.in_turn(
        caller.name, state.job_importer.run, state.database, caller.name, upload
    )
    log.bind(job=job.id)
    response.status_code = 201 if is_new else 200
    response.headers["location"] = f"/v1/jobs/{job.id}"
    view = await run_in_threadpool(_view, state, job)
    return job_detail(response, state.database.access, view)


def _upload(state: AppState, upload_id: str) -> UploadRow:
    with state.database.read() as transaction:
        return uploads.get_complete(transaction, upload_id)


def _view(state: AppState, job: JobRow) -> JobView:
    with state.database.read() as transaction:
        return JobView.read(transaction, job)
