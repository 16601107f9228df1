"""Receives the content of a file in one request or several, for every kind of upload."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Response

from ipulse_core.errors import Conflict, Problem
from ipulse_service.files.file_thread_pool import FileThreadPool
from ipulse_service.files.partial_upload import PartialUpload, WrongContent

_BATCH_BYTES = 2**21  # one batch is written while the next arrives

_BINARY = {"schema": {"type": "string", "format": "binary"}}
BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/octet-stream": _BINARY}}
}
OFFSET: dict[str, Any] = {
    "description": "The offset is in a header.",
    "headers": {
        "Upload-Offset": {
            "description": "Bytes that the service has.",
            "required": True,
            "schema": {"type": "integer"},
        }
    },
}


class WrongOffset(Conflict):
    """The service has another number of bytes of the file; HEAD says how many."""

    code = "wrong_offset"


async def begin(upload: PartialUpload, offset: int, threads: FileThreadPool) -> None:
    """Prepares an upload for the bytes from an offset on; 0 begins anew. Raises WrongOffset."""
    if not offset:
        await threads.run(upload.restart)
    elif offset != upload.size:
        upload.suspend()
        raise WrongOffset(f"the service has {upload.size} bytes of the file")


async def append(
    upload: PartialUpload,
    chunks: AsyncIterator[bytes],
    size: int,
    threads: FileThreadPool,
    place: str = "/query",
) -> None:
    """Writes each batch in a thread while the next arrives. No thread is left when it ends."""
    writing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    writing.set_result(None)
    left = size - upload.size
    # Used in turns: new memory of this size would be cleared by the system each time.
    batch, other = (memoryview(bytearray(max(0, min(left, _BATCH_BYTES)))) for _ in range(2))
    held = 0
    try:
        async for chunk in chunks:
            left -= len(chunk)
            if left < 0:
                raise _wrong("size", f"more than the {size} bytes announced", place)
            rest = memoryview(chunk)
            while rest:
                part, rest = rest[: len(batch) - held], rest[len(batch) - held :]
                batch[held : held + len(part)] = part
                held += len(part)
                if held == len(batch):
                    await asyncio.shield(writing)
                    writing = asyncio.ensure_future(threads.run(upload.write, batch))
                    batch, other, held = other, batch, 0
        await asyncio.shield(writing)
    finally:
        await asyncio.gather(writing, return_exceptions=True)
    await threads.run(upload.write, batch[:held])


def check_content(upload: PartialUpload, size: int, sha256: str, place: str) -> None:
    """Compares what arrived with what was announced at a JSON pointer. Raises WrongContent."""
    if upload.size != size:
        raise _wrong("size", f"{upload.size} bytes arrived; {size} were announced", place)
    if upload.sha256 != sha256:
        raise _wrong("sha256", f"the content that arrived has the digest {upload.sha256}", place)


def _wrong(field: str, detail: str, place: str) -> WrongContent:
    return WrongContent([Problem(f"{place}/{field}", f"wrong_{field}", detail)], detail)


def offset_response(offset: int, status: int) -> Response:
    """Returns a response that says how many bytes the service has."""
    headers = {"upload-offset": str(offset), "cache-control": "no-store"}
    return Response(status_code=status, headers=headers)
