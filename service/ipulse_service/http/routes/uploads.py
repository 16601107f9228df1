"""The files of an attempt, as its agent sends them: whole, or the rest of what broke off."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from ipulse_core import blocks, parsing
from ipulse_core.errors import Conflict, InvalidInput, Problem, Unavailable
from ipulse_core.events import ArtifactEvent
from ipulse_core.schema import MAX_INTEGER
from ipulse_service.db.engine import Transaction
from ipulse_service.files import artifacts
from ipulse_service.files.artifacts import NewArtifact
from ipulse_service.files.file_thread_pool import FileThreadPool
from ipulse_service.files.partial_upload import PartialUpload, WrongContent
from ipulse_service.http import log_context as log
from ipulse_service.http import payloads
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import AttemptId, Fence, State
from ipulse_service.http.problems import TooLarge
from ipulse_service.http.schemas.artifacts import StoredFile
from ipulse_service.http.state import AppState
from ipulse_service.http.worker_requests import MEDIA_TYPE
from ipulse_service.jobs import leases
from ipulse_service.jobs.leases import AttemptRow

_WRITE_BYTES = 2**21  # handed to a thread at once, or more if it is still at those before
_HELD_BYTES = 2**22  # until then: those who wait for each other at every part take longer
_SYNC_BYTES = 2**25  # so that a large file's end does not wait for all of it
_UNHASHED_BYTES = 2**25  # at most: an upload that breaks off waits for them, too
_SMALL_BYTES = 2**16  # read before it is written; if it breaks off, it is begun again

_DIGITS = "^([0-9a-f]{64})?$"
_MEDIA_TYPE = re.compile(MEDIA_TYPE)

router = APIRouter(prefix="/v1/worker", tags=["worker"])
_log = logging.getLogger(__name__)


class WrongOffset(Conflict):
    """The file does not go on where this begins; ask with HEAD where it does."""

    code = "wrong_offset"


class ArtifactQuery(BaseModel):
    """What is announced of a file: its digest, or a name for the upload of one whose checksums its
    sender learns as it sends."""

    model_config = ConfigDict(extra="forbid")

    role: str
    sha256: str = Field("", pattern=_DIGITS)
    upload: str = Field(
        "",
        pattern=_DIGITS,
        description="In the place of `sha256`: random, and new for each file. Behind the content "
        "then follows the CRC-32 of each MiB of it, the last one shorter: four bytes each, the "
        "highest first.",
    )
    size: int = Field(ge=0, le=MAX_INTEGER, description="Bytes.")
    media_type: str = "application/octet-stream"

    @model_validator(mode="after")
    def _either(self) -> ArtifactQuery:
        if bool(self.sha256) is bool(self.upload):
            raise ValueError("either sha256 or upload is to be given")
        return self


@router.head("/attempts/{attempt_id}/artifacts/{name}", include_in_schema=False)
@open_to("worker")
def uploaded(
    attempt_id: AttemptId,
    fence: Fence,
    query: Annotated[ArtifactQuery, Query()],
    parts: State,
) -> Response:
    """How much of a file has arrived: what an interrupted upload goes on from."""
    log.bind(attempt=attempt_id)
    pk = _check_held(parts, attempt_id, fence)
    return Response(headers={"upload-offset": str(parts.blobs.arrived(_partial(pk, query)))})


@router.put(
    "/attempts/{attempt_id}/artifacts/{name}",
    responses={200: {"model": StoredFile}, 201: {"model": StoredFile}},
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}}},
)
@open_to("worker")
async def store_artifact(
    attempt_id: AttemptId,
    name: str,
    fence: Fence,
    query: Annotated[ArtifactQuery, Query()],
    request: Request,
    parts: State,
    upload_offset: Annotated[int, Header(ge=0, le=MAX_INTEGER)] = 0,
) -> Response:
    """Stores a file as it streams in. The same file twice is one artifact.

    With `Upload-Offset: N` only the rest follows; HEAD says how much has arrived before. Either
    `sha256` is announced and checked; or `upload` names it, and each MiB is checked by the CRC-32
    that follows the content: one that was damaged on the way passes with a chance of 2⁻³². The
    file's SHA-256 is then that of what arrived.
    """
    log.bind(attempt=attempt_id)
    async with payloads.stream(request) as chunks:
        described_as = _describe(name, query)
        if query.size > parts.settings.max_artifact_bytes:
            raise TooLarge((), f"a file may have {parts.settings.max_artifact_bytes:,} bytes")
        transfers = parts.file_threads
        if query.sha256 and upload_offset == 0 and query.size <= _SMALL_BYTES:
            content = await _read(chunks, query.size)
            stored = await transfers.run(
                _store, parts, attempt_id, fence, described_as, query, content
            )
            return _answer(parts, stored)
        pk = await run_in_threadpool(_check_held, parts, attempt_id, fence)
        incoming = await transfers.run(parts.blobs.receive, _partial(pk, query))
        if upload_offset == 0:
            await transfers.run(incoming.restart)
        elif upload_offset != incoming.size:
            incoming.suspend()
            raise WrongOffset(f"the file goes on at byte {incoming.size}")
        try:
            followed = await _receive(incoming, chunks, query, transfers)
            _check_content(incoming, query, followed)
            await transfers.run(incoming.sync)
            stored = await transfers.run(_keep, parts, attempt_id, fence, described_as, incoming)
        except (ClientDisconnect, asyncio.CancelledError):  # a stop of the service cancels it
            incoming.suspend()
            raise
        except BaseException:
            await transfers.run(incoming.close)
            raise
        await transfers.run(incoming.close)
    return _answer(parts, stored)


def _answer(parts: AppState, stored: artifacts.StoreResult) -> Response:
    body = StoredFile(artifact_id=stored.artifact.id, sha256=stored.artifact.sha256)
    answer = JSONResponse(body.model_dump(), 201 if stored.created else 200)
    if stored.replaced:
        # Behind the answer: a disk takes long to give a large file's room back.
        answer.background = BackgroundTask(_forget, parts, stored.replaced)
    return answer


async def _forget(parts: AppState, digests: Sequence[str]) -> None:
    """Removes replaced files. The housekeeper removes what is left by trouble or a crash."""
    try:
        for sha256 in digests:
            await parts.file_threads.run(artifacts.forget, parts.database, parts.blobs, sha256)
    except Unavailable as error:
        _log.warning("replaced_file_left", extra={"error": error.message})


async def _receive(
    incoming: PartialUpload,
    chunks: AsyncIterator[bytes],
    query: ArtifactQuery,
    transfers: FileThreadPool,
) -> bytes:
    """Writes one part while the next arrives, and hash and disk are at work on those before; no
    thread is at it when this ends or is cancelled.

    Returns the checksums that followed the content.
    """
    part: list[bytes] = []  # put together by nobody: a copy takes as long as its way here
    held = 0
    left = query.size - incoming.size  # below 0 where checksums follow
    to_follow = 0 if query.sha256 else blocks.packed_bytes(query.size)
    syncing = hashing = writing = asyncio.get_running_loop().create_future()
    writing.set_result(None)
    try:
        async for chunk in chunks:
            part.append(chunk)
            held += len(chunk)
            left -= len(chunk)
            if left < -to_follow:
                raise _wrong("size", f"more than the {query.size} bytes announced")
            if left >= 0 and held >= (_WRITE_BYTES if writing.done() else _HELD_BYTES):
                await asyncio.shield(writing)
                writing = asyncio.ensure_future(transfers.run(incoming.write, *part))
                part, held = [], 0
                if hashing.done() or incoming.unhashed >= _UNHASHED_BYTES:
                    await asyncio.shield(hashing)
                    hashing = asyncio.ensure_future(transfers.run(incoming.hash))
                if syncing.done() and incoming.unsynced >= _SYNC_BYTES:
                    await syncing
                    syncing = asyncio.ensure_future(transfers.run(incoming.sync))
        await asyncio.shield(writing)
    finally:
        await asyncio.gather(writing, hashing, return_exceptions=True)
        await syncing  # its error outweighs others: of what is lost so, the system tells once
    rest = b"".join(part)
    content_size = held + min(left, 0)
    await transfers.run(incoming.write, rest[:content_size])
    await transfers.run(incoming.hash)
    return rest[content_size:]


async def _read(chunks: AsyncIterator[bytes], size: int) -> bytes:
    """A small file."""
    content = bytearray()
    async for chunk in chunks:
        content += chunk
        if len(content) > size:
            raise _wrong("size", f"more than the {size} bytes announced")
    return bytes(content)


def _store(
    parts: AppState,
    attempt_id: str,
    fence: str,
    described_as: NewArtifact,
    query: ArtifactQuery,
    content: bytes,
) -> artifacts.StoreResult:
    """Keeps a small file, in one thread: each change of threads takes longer than its step."""
    pk = _check_held(parts, attempt_id, fence)
    incoming = parts.blobs.receive(_partial(pk, query))
    try:
        incoming.restart()
        incoming.write(content)
        _check_content(incoming, query)
        incoming.sync()
        return _keep(parts, attempt_id, fence, described_as, incoming)
    finally:
        incoming.close()


def _describe(name: str, query: ArtifactQuery) -> NewArtifact:
    # The rules for a name, a role and a media type stand in the event that announces a file.
    places = {"/path": "/path/name", "/role": "/query/role", "/media_type": "/query/media_type"}
    value = {
        "kind": "artifact",
        "path": name,
        "role": query.role,
        "media_type": query.media_type,
    }
    try:
        event = parsing.parse(ArtifactEvent, value)
    except InvalidInput as error:
        found = [Problem(places[p.pointer], p.code, p.detail) for p in error.problems]
        raise InvalidInput(found) from error
    if not _MEDIA_TYPE.fullmatch(event.media_type):
        detail = "must look like type/subtype"
        raise InvalidInput([Problem("/query/media_type", "wrong_form", detail)])
    return NewArtifact(name=event.path, role=event.role, media_type=event.media_type)


def _check_held(parts: AppState, attempt_id: str, fence: str) -> int:
    with parts.database.read() as transaction:
        return leases.hold(transaction, attempt_id, fence).pk


def _partial(attempt_pk: int, query: ArtifactQuery) -> str:
    return f"{attempt_pk}-{query.sha256 or query.upload}"


def _keep(
    parts: AppState, attempt_id: str, fence: str, described_as: NewArtifact, incoming: PartialUpload
) -> artifacts.StoreResult:
    def holder(transaction: Transaction) -> AttemptRow:
        return leases.hold(transaction, attempt_id, fence)

    return artifacts.keep(parts.database, parts.blobs, described_as, incoming, holder)


def _check_content(incoming: PartialUpload, query: ArtifactQuery, followed: bytes = b"") -> None:
    if incoming.size != query.size:
        raise _wrong("size", f"{incoming.size} bytes arrived; {query.size} were announced")
    if query.sha256:
        if incoming.sha256 != query.sha256:
            raise _wrong("sha256", f"the bytes that arrived have {incoming.sha256}")
        return
    to_follow = blocks.packed_bytes(query.size)
    if len(followed) != to_follow:
        raise _wrong("upload", f"{len(followed)} bytes of checksums followed and not {to_follow}")
    number = blocks.first_difference(incoming.checksums.blocks, followed)
    if number is not None:
        begin = number * blocks.BLOCK_BYTES
        raise _wrong("upload", f"the MiB from byte {begin:,} on did not arrive as it was sent")


def _wrong(field: str, detail: str) -> WrongContent:
    return WrongContent([Problem(f"/query/{field}", f"wrong_{field}", detail)], detail)
