"""List and download what a job has left."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import NotFound
from ipulse_service.files import artifacts
from ipulse_service.files.artifacts import Artifact
from ipulse_service.http import file_response as downloads
from ipulse_service.http import log_context as log
from ipulse_service.http.auth import open_to
from ipulse_service.http.representations import ArtifactBody, ArtifactListBody
from ipulse_service.http.responses import json_answer
from ipulse_service.http.state import AppState, get_state
from ipulse_service.jobs import store

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["artifacts"])

_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}},
    206: {"content": {"application/octet-stream": {}}},
    304: {},
    307: {"description": "The store itself gives the file out, at the signed Location."},
}


@router.get("/artifacts", responses={200: {"model": ArtifactListBody}})
def list_artifacts(job_id: str, request: Request) -> Response:
    """The files of the job's latest attempt so far."""
    state = get_state(request)
    log.bind(job=job_id)
    found = _official(state, job_id)
    body = ArtifactListBody(
        artifacts=[ArtifactBody.of(artifact) for artifact in found],
        complete=any(artifact.role == "manifest" for artifact in found),
    )
    return json_answer(body)


@router.head("/artifacts/{artifact_id}/content", responses=_FILE, include_in_schema=False)
@router.get("/artifacts/{artifact_id}/content", responses=_FILE)
@open_to("user", "worker")  # an agent fetches the checkpoint that it is to resume from
async def content(job_id: str, artifact_id: str, request: Request) -> Response:
    """The bytes of a file; its ETag is their SHA-256. One range at a time.

    A file is verified while it is read: what is damaged of a range is never sent, and a damaged
    whole file breaks off before its end.
    """
    state = get_state(request)
    log.bind(job=job_id)
    artifact = await run_in_threadpool(_get, state, job_id, artifact_id)
    # A script in a browser may not follow to another host; the page's policy sees to that.
    may_redirect = "sec-fetch-dest" not in request.headers
    return await downloads.respond(
        request, artifact, state.blobs, state.file_threads, "attachment", may_redirect
    )


@router.get("/profile", responses={200: {"content": {"application/json": {}}}, 304: {}})
async def profile(job_id: str, request: Request) -> Response:
    """Where the job's time and memory went, once its attempt has reported."""
    state = get_state(request)
    log.bind(job=job_id)
    for artifact in await run_in_threadpool(_official, state, job_id):
        if artifact.role == "profile":
            return await downloads.respond(
                request, artifact, state.blobs, state.file_threads, "inline", False
            )
    raise NotFound("the job has no profile yet; it is written when training ends")


def _official(state: AppState, job_id: str) -> list[Artifact]:
    with state.database.read() as transaction:
        return artifacts.official(transaction, store.get(transaction, job_id))


def _get(state: AppState, job_id: str, artifact_id: str) -> Artifact:
    with state.database.read() as transaction:
        return artifacts.get(transaction, store.get(transaction, job_id), artifact_id)
