"""Request bodies: read up to a cap and no further."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from ipulse.models import validate
from ipulse_core import strict_json
from ipulse_core.errors import IPUlseError
from ipulse_service.http.dependencies import State
from ipulse_service.http.problems import TooLarge, WrongMediaType

T = TypeVar("T")

# A refused body is still read this far, so that its sender gets to see the answer instead of
# a broken connection.
_DRAIN_BYTES = 32 * 2**20


def parse(cls: type[T], body: bytes) -> T:
    """Returns the model in a JSON body. Raises InvalidJSON, or InvalidInput with its places."""
    return validate(cls, strict_json.loads(body))


def described(name: str) -> dict[str, Any]:
    """What the OpenAPI document says of a route that reads a body of this schema."""
    schema = {"schema": {"$ref": f"#/components/schemas/{name}"}}
    return {"requestBody": {"required": True, "content": {"application/json": schema}}}


@asynccontextmanager
async def stream(request: Request) -> AsyncIterator[AsyncGenerator[bytes]]:
    """The body in chunks. An error of ours is answered only after the rest has been read."""
    chunks = request.stream()
    try:
        yield chunks
    except IPUlseError:
        # Whoever waits for "100 Continue" has not sent anything yet.
        if request.headers.get("expect", "").lower() != "100-continue":
            await _drain(chunks)
        raise


async def read_json(request: Request, cap: int) -> bytes:
    """The body of at most `cap` bytes, not parsed. Raises WrongMediaType or TooLarge."""
    async with stream(request) as chunks:
        _check_media_type(request)
        _check_size(int(request.headers.get("content-length", 0)), cap)
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            _check_size(len(body), cap)
    return bytes(body)


async def _ordinary(request: Request, state: State) -> bytes:
    return await read_json(request, state.settings.max_body_bytes)


async def _events(request: Request, state: State) -> bytes:
    return await read_json(request, state.settings.max_events_bytes)


JSONBody = Annotated[bytes, Depends(_ordinary)]
EventsBody = Annotated[bytes, Depends(_events)]


def _check_media_type(request: Request) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise WrongMediaType(())
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise WrongMediaType((), "the body must not be compressed")


def _check_size(size: int, cap: int) -> None:
    if size > cap:
        raise TooLarge((), f"the body may have at most {cap:,} bytes")


async def _drain(chunks: AsyncGenerator[bytes]) -> None:
    drained = 0
    async for chunk in chunks:
        drained += len(chunk)
        if drained > _DRAIN_BYTES:
            return
