"""Routes that list and download the files of a job."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import InvalidInput, NotFound, NotPermitted, Problem
from ipulse_service.files.stored import ArtifactRow
from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import CurrentCaller, JobId, State
from ipulse_service.http.files import file_response
from ipulse_service.http.schemas.jobs.artifacts import ArtifactInfo, ArtifactList
from ipulse_service.http.schemas.jobs.networks import NirOutline
from ipulse_service.http.state import AppState
from ipulse_service.jobs import artifacts, leases, store
from ipulse_service.reading.reader import NETWORK, Unreadable

MAX_NETWORK_BYTES = 64 * 2**20

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["artifacts"])

# Generators take the first one; the file's own media type is in its ArtifactInfo.
DOWNLOAD = file_response.documented("application/octet-stream", "*/*")
_OBJECT = {"schema": {"type": "object", "additionalProperties": True}}
_PROFILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The profile.", "content": {"application/json": _OBJECT}},
    206: {**DOWNLOAD[206], "content": {"application/json": {"schema": {}}}},
    304: DOWNLOAD[304],
    **problems.documented(404, 416),
}

_HTML: dict[str, Any] = {"text/html": {"schema": {"type": "string"}}}
_REPORT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The report.", "content": _HTML},
    206: {**DOWNLOAD[206], "content": _HTML},
    304: DOWNLOAD[304],
    **problems.documented(404, 416),
}
# The report itself allows only its own script and style sheet, by their digests.
_REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)


class UnreadableNetwork(InvalidInput):
    """The file is not a NIR graph that can be shown."""

    code = "unreadable_network"


@router.get(
    "/artifacts",
    summary="List a job's files",
    response_description="The files.",
    responses=problems.documented(404),
)
def list_artifacts(job_id: JobId, state: State) -> ArtifactList:
    """Returns the files of the job's latest attempt."""
    log.bind(job=job_id)
    found = _latest(state, job_id)
    return ArtifactList(
        artifacts=[ArtifactInfo.from_row(artifact) for artifact in found],
        complete=any(artifact.role == "manifest" for artifact in found),
    )


@router.head("/artifacts/{artifact_id}/content", response_class=Response, include_in_schema=False)
@router.get(
    "/artifacts/{artifact_id}/content",
    response_class=Response,
    summary="Download a file",
    responses=DOWNLOAD,
)
@open_to("user", "worker")  # an agent downloads the checkpoint that it resumes from
async def download_artifact(
    job_id: JobId,
    artifact_id: Annotated[str, Path(description="The file's id.")],
    state: State,
    caller: CurrentCaller,
    request: Request,
) -> Response:
    """Returns a file, or one range of its bytes. Its ETag is the SHA-256 of the content.

    The file is verified while it is read. A damaged range is not sent; the download of a damaged
    file ends before its last byte.
    """
    log.bind(job=job_id)
    artifact = await run_in_threadpool(_get, state, caller, job_id, artifact_id)
    # The content security policy of the web page forbids its scripts to follow a redirect.
    may_redirect = "sec-fetch-dest" not in request.headers
    return await file_response.respond(
        request, artifact, state.blobs, state.file_threads, "attachment", may_redirect
    )


@router.get(
    "/artifacts/{artifact_id}/network",
    summary="List the nodes of a network file",
    response_description="The graph.",
    responses=problems.documented(404, 422),
)
async def get_network_graph(
    job_id: JobId,
    artifact_id: Annotated[str, Path(description="The id of a NIR file.")],
    state: State,
    caller: CurrentCaller,
) -> NirOutline:
    """Returns the nodes of a NIR file with their parameters, and its edges."""
    log.bind(job=job_id)
    artifact = await run_in_threadpool(_get, state, caller, job_id, artifact_id)
    if not artifact.name.endswith(".nir"):
        raise _unreadable(f"{artifact.name} is not a NIR file")
    if artifact.size > MAX_NETWORK_BYTES:
        limit = MAX_NETWORK_BYTES // 2**20
        raise _unreadable(f"{artifact.name} is larger than {limit} MiB: download it")
    return await state.reader.in_turn(caller.name, _outline, state, artifact)


@router.get("/profile", response_class=Response, summary="Get a job's profile", responses=_PROFILE)
async def get_profile(job_id: JobId, state: State, request: Request) -> Response:
    """Returns where the time and memory of the job's latest attempt went."""
    log.bind(job=job_id)
    for artifact in await run_in_threadpool(_latest, state, job_id):
        if artifact.role == "profile":
            return await file_response.respond(
                request, artifact, state.blobs, state.file_threads, "inline", False
            )
    raise NotFound("the job has no profile yet; it is written when training ends")


@router.get("/report", response_class=Response, summary="Get a job's report", responses=_REPORT)
async def get_report(job_id: JobId, state: State, request: Request) -> Response:
    """Returns the HTML report of the job's latest attempt, for a frame of the web page.

    A browser gives it an origin of its own: its script sees no session and sends no request.
    """
    log.bind(job=job_id)
    for artifact in await run_in_threadpool(_latest, state, job_id):
        if artifact.role == "report":
            response = await file_response.respond(
                request, artifact, state.blobs, state.file_threads, "inline", False
            )
            response.headers["content-security-policy"] = _REPORT_POLICY
            return response
    raise NotFound("the job has no report yet; it is written when training ends")


def _outline(state: AppState, artifact: ArtifactRow) -> NirOutline:
    with state.blobs.as_file(artifact.sha256) as path:
        try:
            return NirOutline.model_validate(state.reader.read(NETWORK, [path]))
        except Unreadable as error:
            raise _unreadable(error.detail) from error


def _unreadable(detail: str) -> UnreadableNetwork:
    return UnreadableNetwork([Problem("/path/artifact_id", "unreadable_network", detail)])


def _latest(state: AppState, job_id: str) -> list[ArtifactRow]:
    with state.database.read() as transaction:
        return artifacts.official(transaction, store.get(transaction, job_id))


def _get(state: AppState, caller: Caller, job_id: str, artifact_id: str) -> ArtifactRow:
    with state.database.read() as transaction:
        job = store.get(transaction, job_id)
        is_agent = caller.role == "worker"
        if is_agent and not leases.is_held_by(transaction, job.pk, caller.agent):
            raise NotPermitted("an agent may read the files of a job while it holds the job")
        return artifacts.get(transaction, job, artifact_id)
