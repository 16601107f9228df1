"""Responses with a stored file: all of it or one range, verified and in constant memory."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ipulse_service.files.blob_reader import BlobReader
from ipulse_service.files.file_thread_pool import FileThreadPool
from ipulse_service.files.stored import ArtifactRow, Store
from ipulse_service.http import etags, problems
from ipulse_service.http.problems import RangeNotSatisfiable

MOST_RANGES = 16  # more of them in one header are refused as abuse

# Types of the files that are shown inline, by their roles.
INLINE_TYPES = {"profile": "application/json", "report": "text/html; charset=utf-8"}

_RANGE = re.compile(r"bytes\s*=\s*([0-9]*)\s*-\s*([0-9]*)\s*", re.IGNORECASE)
_ONE = r"\s*(?:[0-9]+\s*-\s*[0-9]*|-\s*[0-9]+)\s*"
_SEVERAL = re.compile(rf"bytes\s*={_ONE}(?:,{_ONE}){{1,{MOST_RANGES - 1}}}", re.IGNORECASE)


def documented(*media_types: str) -> dict[int | str, dict[str, Any]]:
    """Returns the responses of a route that sends a file, for the OpenAPI document."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    content = dict.fromkeys(media_types, binary)
    return {
        200: {"description": "The file.", "content": content},
        206: {"description": "The bytes that the Range header names.", "content": content},
        304: {"description": "The file still has the ETag of If-None-Match."},
        307: {"description": "The object store sends the file from the signed URL in Location."},
        **problems.documented(404, 412, 416),
    }


@dataclass(frozen=True)
class ByteRange:
    """The bytes from `start` to before `stop`."""

    start: int
    stop: int


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """Returns the range of a Range header, or None for the whole file.

    Several ranges are answered with the whole file, as RFC 9110 (section 14.2) allows: whoever
    asks for several must understand that, and it needs no multipart body.

    Raises:
        RangeNotSatisfiable: The header names a malformed range, one beyond the end of the file, or
            more than MOST_RANGES.
    """
    if header is None or not header.strip().lower().startswith("bytes"):
        return None  # unknown units are ignored (RFC 9110, section 14.2)
    if _SEVERAL.fullmatch(header.strip()):
        return None
    match = _RANGE.fullmatch(header.strip())
    if match is None or match.group(1) == match.group(2) == "":
        raise RangeNotSatisfiable(size)
    first, last = (_position(digits, size) for digits in match.groups())
    if first is None:
        wanted = ByteRange(size - (last or 0), size)  # the last bytes of the file
    else:
        wanted = ByteRange(first, size if last is None else min(size, last + 1))
    if wanted.start >= wanted.stop:
        raise RangeNotSatisfiable(size)
    return wanted


def _position(digits: str, size: int) -> int | None:
    """Returns a number of bytes, at most the file's size; None where it is absent."""
    if not digits:
        return None
    digits = digits.lstrip("0") or "0"
    # Python limits the digits that it converts, and a header may have more.
    return size if len(digits) > len(str(size)) else min(size, int(digits))


async def respond(
    request: Request,
    artifact: ArtifactRow,
    blobs: Store,
    file_threads: FileThreadPool,
    disposition: str,
    may_redirect: bool,
) -> Response:
    """Returns the response to GET or HEAD: the file, or a redirect to the object store.

    Raises Changed, RangeNotSatisfiable or StoreTrouble.
    """
    # Names consist of letters, digits, dots, dashes and underscores.
    content_disposition = f'{disposition}; filename="{artifact.name}"'
    headers = {
        "etag": etags.quoted(artifact.sha256),
        "accept-ranges": "bytes",
        "content-disposition": content_disposition,
        "repr-digest": f"sha-256=:{base64.b64encode(bytes.fromhex(artifact.sha256)).decode()}:",
        "cache-control": "private, no-cache",
    }
    etags.require(request.headers.get("if-match"), artifact.sha256)
    if etags.matches(request.headers.get("if-none-match"), artifact.sha256):
        return Response(status_code=304, headers=headers)
    if may_redirect and request.method == "GET":
        url = blobs.signed_url(artifact.sha256, artifact.media_type, content_disposition)
        if url is not None:
            return Response(status_code=307, headers={"location": url, "cache-control": "no-store"})
    wanted = None
    if request.headers.get("if-range") in (None, headers["etag"]):
        wanted = parse_range(request.headers.get("range"), artifact.size)
    status = 200
    if wanted is not None:
        status = 206
        headers["content-range"] = f"bytes {wanted.start}-{wanted.stop - 1}/{artifact.size}"
    wanted = wanted or ByteRange(0, artifact.size)
    size = wanted.stop - wanted.start
    headers["content-length"] = str(size)
    # A browser shows what is inline: its type follows from what the file is for, not from itself.
    is_inline = disposition == "inline"
    headers["content-type"] = INLINE_TYPES[artifact.role] if is_inline else artifact.media_type
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    opener = partial(blobs.open_checked, artifact.sha256, artifact.size, wanted.start, wanted.stop)
    return BlobResponse(BlobReader(opener, size), file_threads, status, headers)


class BlobResponse(StreamingResponse):
    """Sends a file while it is read and verified, and closes it however the response ends."""

    def __init__(
        self,
        reader: BlobReader,
        file_threads: FileThreadPool,
        status: int,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__((), status, headers)
        self._reader = reader
        self._file_threads = file_threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response and closes the file."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._reader.close()

    async def stream_response(self, send: Send) -> None:
        """Sends each chunk while the next one is read."""
        # Before the status is sent: a damaged or missing file is answered with a problem document.
        chunk = await self._file_threads.run(self._reader.begin)
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        while chunk and self._reader.left:
            sent = send({"type": "http.response.body", "body": chunk, "more_body": True})
            _, chunk = await asyncio.gather(sent, self._file_threads.run(self._reader.read))
        await send({"type": "http.response.body", "body": chunk})
