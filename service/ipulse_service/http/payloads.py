"""Request bodies: size limits, strict JSON, and every problem of a body at once."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from itertools import islice
from typing import Annotated, Any, ClassVar, cast

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import ErrorDetails
from starlette.concurrency import run_in_threadpool

from ipulse.models import problems_of, validate
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, InvalidSpec, IPUlseError, Problem
from ipulse_service.http.problems import TooLarge, WrongMediaType
from ipulse_service.http.state import AppState
from ipulse_service.settings import Settings

# A refused body is still read up to here; otherwise its sender would see a broken connection
# instead of the response.
_DRAIN_BYTES = 32 * 2**20
_LARGE_BYTES = 2**16  # a larger body is parsed in another thread
# A list or a member of an object takes Python some hundred bytes, and JSON two. The largest bodies
# that are useful, metrics of many names, have a part in 33 bytes.
_BYTES_PER_PART = 32
_TEXT_OR_PART = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|([\[{:])', re.DOTALL)


class JSONRequest(Request):
    """A request with a JSON body that is limited in size and parsed strictly."""

    def __init__(self, request: Request, limit: int, check: Callable[[Any], object]) -> None:
        super().__init__(request.scope, request.receive)
        self._limit = limit
        self._check = check
        self._content: bytes | None = None

    async def body(self) -> bytes:
        """Returns the body. Raises WrongMediaType or TooLarge."""
        if self._content is None:
            async with stream(self) as chunks:
                self._content = await self._read(chunks)
        return self._content

    async def json(self) -> Any:
        """Returns the parsed body. Raises WrongMediaType, TooLarge or InvalidJSON.

        A large body is read as its model here, in another thread: FastAPI reads it in the event
        loop, where the explanation of a million errors would delay every other request.
        """
        content = await self.body()
        if len(content) > _LARGE_BYTES:
            return await run_in_threadpool(self._checked, content)
        return _parse(content)

    def _checked(self, content: bytes) -> Any:
        _check_parts(content, self._limit // _BYTES_PER_PART)
        return self._check(_parse(content))

    async def _read(self, chunks: AsyncIterator[bytes]) -> bytes:
        self._check_size(int(self.headers.get("content-length", 0)))
        content = bytearray()
        async for chunk in chunks:
            content += chunk
            self._check_size(len(content))
        if content:  # the absence of a body is reported after the caller's role was checked
            check_media_type(self)
        return bytes(content)

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise TooLarge((), f"the body may have at most {self._limit:,} bytes")


class JSONRoute(APIRoute):
    """A route that takes a pydantic model as its JSON body."""

    error: ClassVar[type[InvalidInput]] = InvalidInput

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Returns the handler that FastAPI makes for the route, with a bounded, strict body."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle
        field = self.body_field.field_info
        # With its metadata: ByKind chooses the member of a union.
        body: Any = field.annotation
        for metadata in field.metadata:
            body = Annotated[body, metadata]

        def check(value: Any) -> Any:
            return validate(body, value, self.error)

        async def handle_json(request: Request) -> Response:
            settings = cast(AppState, request.app.state.services).settings
            json_request = JSONRequest(request, self.max_bytes(settings), check)
            try:
                return await handle(json_request)
            except RequestValidationError as error:
                lines = list(error.errors())
                if any(line["loc"][0] != "body" for line in lines):
                    raise  # the parameters come first
                if lines[0]["loc"] == ("body",) and lines[0]["type"] == "missing":
                    check_media_type(request)
                    strict_json.loads(b"")  # an empty body is no JSON
                in_body = [cast(ErrorDetails, {**line, "loc": line["loc"][1:]}) for line in lines]
                raise self.error(problems_of(in_body)) from error

        return handle_json

    def max_bytes(self, settings: Settings) -> int:
        """Returns the size limit of the body."""
        return settings.max_body_bytes


class SpecRoute(JSONRoute):
    """A route that takes an experiment spec."""

    error = InvalidSpec


class BatchRoute(SpecRoute):
    """A route that takes several specs, each perhaps with its text."""

    def max_bytes(self, settings: Settings) -> int:
        """Returns the size limit of the body."""
        return 2 * settings.max_body_bytes


class EventsRoute(JSONRoute):
    """A route that takes events, of which there may be many."""

    def max_bytes(self, settings: Settings) -> int:
        """Returns the size limit of the body."""
        return settings.max_events_bytes


@asynccontextmanager
async def stream(request: Request) -> AsyncIterator[AsyncGenerator[bytes]]:
    """Yields the body in chunks; after an error of the project, the rest is read and dropped."""
    chunks = request.stream()
    try:
        yield chunks
    except IPUlseError:
        # A client that waits for "100 Continue" has not sent the body.
        if request.headers.get("expect", "").lower() != "100-continue":
            await _drain(chunks)
        raise


def check_media_type(request: Request) -> None:
    """Raises WrongMediaType unless the body is uncompressed JSON."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise WrongMediaType(())
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise WrongMediaType((), "the body must not be compressed")


def _check_parts(content: bytes, most: int) -> None:
    """Raises InvalidInput for a document with more lists, objects and members than `most`."""
    if sum(map(content.count, (b"[", b"{", b":"))) <= most:
        return  # also with those in texts
    parts = (match for match in _TEXT_OR_PART.finditer(content) if match.lastindex)
    if next(islice(parts, most, None), None) is not None:
        detail = f"has more than {most:,} lists, objects and fields; divide it"
        raise InvalidInput([Problem("", "too_many_parts", detail)], "the body has too many parts")


def _parse(content: bytes) -> Any:
    # JSON Schema takes 1.0 for an integer.
    return strict_json.loads(content, whole_as_int=True)


async def _drain(chunks: AsyncGenerator[bytes]) -> None:
    drained = 0
    async for chunk in chunks:
        drained += len(chunk)
        if drained > _DRAIN_BYTES:
            return
