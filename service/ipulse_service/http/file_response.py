"""A stored file over HTTP: whole or one range, in constant memory, and never run by a browser."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ipulse_service.files.artifacts import Artifact, Store
from ipulse_service.files.blob_reader import BlobReader
from ipulse_service.files.file_thread_pool import FileThreadPool
from ipulse_service.http import etags
from ipulse_service.http.problems import RangeNotSatisfiable

_RANGE = re.compile(r"bytes\s*=\s*([0-9]{0,18})\s*-\s*([0-9]{0,18})\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Span:
    """The bytes from `start` to before `stop`."""

    start: int
    stop: int


def requested_span(header: str | None, size: int) -> Span | None:
    """The one range of bytes asked for; None when it is the whole file.

    Raises RangeNotSatisfiable for several ranges, malformed ones and those beyond the end.
    """
    if header is None or not header.strip().lower().startswith("bytes"):
        return None  # units nobody has heard of are to be ignored (RFC 9110, 14.2)
    match = _RANGE.fullmatch(header.strip())
    if match is None or match.group(1) == match.group(2) == "":
        raise RangeNotSatisfiable(size)
    first, last = match.groups()
    if first:
        span = Span(int(first), min(size, int(last) + 1) if last else size)
    else:
        span = Span(max(0, size - int(last)), size)  # so many bytes from the end
    if span.start >= span.stop or (last and first and int(last) < int(first)):
        raise RangeNotSatisfiable(size)
    return span


async def respond(
    request: Request,
    artifact: Artifact,
    blobs: Store,
    transfers: FileThreadPool,
    disposition: str,
    may_redirect: bool,
) -> Response:
    """The answer to GET or HEAD: the file, or where the store itself gives it out.

    Raises RangeNotSatisfiable or StoreTrouble.
    """
    # Names hold only letters, digits, dots, dashes and underscores.
    placed = f'{disposition}; filename="{artifact.name}"'
    headers = {
        "etag": etags.quoted(artifact.sha256),
        "accept-ranges": "bytes",
        "content-disposition": placed,
        "repr-digest": f"sha-256=:{base64.b64encode(bytes.fromhex(artifact.sha256)).decode()}:",
        "cache-control": "private, no-cache",
    }
    if etags.matches(request.headers.get("if-none-match"), artifact.sha256):
        return Response(status_code=304, headers=headers)
    if may_redirect and request.method == "GET":
        url = blobs.signed_url(artifact.sha256, artifact.media_type, placed)
        if url is not None:
            return Response(status_code=307, headers={"location": url, "cache-control": "no-store"})
    span = None
    if request.headers.get("if-range") in (None, headers["etag"]):
        span = requested_span(request.headers.get("range"), artifact.size)
    status = 200
    if span is not None:
        status = 206
        headers["content-range"] = f"bytes {span.start}-{span.stop - 1}/{artifact.size}"
    span = span or Span(0, artifact.size)
    size = span.stop - span.start
    headers["content-length"] = str(size)
    headers["content-type"] = artifact.media_type
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    opener = partial(blobs.open_checked, artifact.sha256, artifact.size, span.start, span.stop)
    return Download(BlobReader(opener, size), transfers, status, headers)


class Download(StreamingResponse):
    """The next chunk is read and checked while one is sent. Nothing of it stays open, however it
    ends, also before it begins."""

    def __init__(
        self,
        reader: BlobReader,
        transfers: FileThreadPool,
        status: int,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__((), status, headers)
        self._reader = reader
        self._transfers = transfers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._reader.close()

    async def stream_response(self, send: Send) -> None:
        chunk = await self._transfers.run(self._reader.begin)  # while another answer is possible
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        while chunk and self._reader.left:
            sent = send({"type": "http.response.body", "body": chunk, "more_body": True})
            _, chunk = await asyncio.gather(sent, self._transfers.run(self._reader.read))
        await send({"type": "http.response.body", "body": chunk})
