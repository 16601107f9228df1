"""A stored file over HTTP: whole or one range, in constant memory, and never run by a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import BinaryIO

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from . import etags
from .artifacts import Artifact, Store
from .problems import RangeNotSatisfiable
from .transfers import Transfers

_CHUNK_BYTES = 2**18
_RANGE = re.compile(r"bytes\s*=\s*([0-9]{0,18})\s*-\s*([0-9]{0,18})\s*", re.IGNORECASE)


class Damaged(Exception):
    """What is stored is not what was stored; the connection is cut and the log says so."""


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
    transfers: Transfers,
    disposition: str,
    may_redirect: bool,
) -> Response:
    """The answer to GET or HEAD: the file, or where the store itself gives it out.

    Raises RangeNotSatisfiable, StoreTrouble, or DamagedFile for a part of such a file.
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
    headers["content-length"] = str(span.stop - span.start)
    headers["content-type"] = artifact.media_type
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    if span != Span(0, artifact.size):
        # Its digest says nothing of a part: the whole file is read before the first one is sent.
        await transfers.run(blobs.verify, artifact.sha256)
    file = await transfers.run(blobs.open, artifact.sha256, span.start)
    return StreamingResponse(_chunks(file, span, artifact, transfers), status, headers)


async def _chunks(
    file: BinaryIO, span: Span, artifact: Artifact, transfers: Transfers
) -> AsyncIterator[bytes]:
    with file:
        digest = hashlib.sha256()
        is_whole = span == Span(0, artifact.size)
        left = span.stop - span.start
        while left > 0:
            chunk = await transfers.run(file.read, min(_CHUNK_BYTES, left))
            if not chunk:
                raise Damaged(f"the file {artifact.sha256} is shorter than its row says")
            left -= len(chunk)
            if is_whole:
                await transfers.run(digest.update, chunk)
                # The last chunk is held back: whoever gets all bytes gets the right ones.
                if left == 0 and digest.hexdigest() != artifact.sha256:
                    raise Damaged(f"the file {artifact.sha256} has other content")
            yield chunk
