"""The transports of the clients: asynchronous, or blocking."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import (
    Any,
    Protocol,
    TypeVar,
)

import anyio
import httpx
from anyio.lowlevel import current_token

from ipulse_core.errors import Conflict

T = TypeVar("T")

Streamed = tuple[httpx.Response, AsyncIterator[bytes]]


class Transport(Protocol):
    """The network operations of a client.

    Raises Conflict when it is used after `close`, or in another event loop than before.
    """

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return the response."""
        ...

    def stream(self, path: str, raw: bool, **options: Any) -> AbstractAsyncContextManager[Streamed]:
        """Send a GET request; return the response and its body in chunks.

        The body of an error has been read.
        """
        ...

    async def send(self, path: str, chunks: Iterator[bytes], **options: Any) -> httpx.Response:
        """Send a PATCH request with a body in chunks, and return the response."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Sleep for so many seconds."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class AsyncTransport:
    """A transport for asyncio and trio, which belongs to one event loop."""

    def __init__(self, **options: Any) -> None:
        self.http = httpx.AsyncClient(**options)
        self._loop: object | None = None

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return the response."""
        self._check()
        return await self.http.request(method, path, **options)

    @asynccontextmanager
    async def stream(self, path: str, raw: bool, **options: Any) -> AsyncIterator[Streamed]:
        """Send a GET request; return the response and its body in chunks."""
        self._check()
        async with self.http.stream("GET", path, **options) as response:
            if not response.is_success:
                await response.aread()
            yield response, response.aiter_raw() if raw else response.aiter_bytes()

    async def send(self, path: str, chunks: Iterator[bytes], **options: Any) -> httpx.Response:
        """Send a PATCH request with a body in chunks, and return the response."""
        self._check()
        return await self.http.patch(path, content=_async_iterator(chunks), **options)

    async def sleep(self, seconds: float) -> None:
        """Sleep for so many seconds."""
        await anyio.sleep(seconds)

    async def close(self) -> None:
        """Close the connections."""
        self._check_loop()
        await self.http.aclose()

    def _check(self) -> None:
        _check_open(self.http)
        self._check_loop()

    def _check_loop(self) -> None:
        loop = current_token()
        if self._loop is None:
            self._loop = loop
        if self._loop != loop:
            raise Conflict(
                "an AsyncClient belongs to the event loop that used it first: make one in each "
                "asyncio.run, with `async with AsyncClient() as client`"
            )


class BlockingTransport:
    """A transport with coroutines that never suspend: `finished` and `stepped` run them."""

    def __init__(self, **options: Any) -> None:
        self.http = httpx.Client(**options)

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return the response."""
        _check_open(self.http)
        return self.http.request(method, path, **options)

    @asynccontextmanager
    async def stream(self, path: str, raw: bool, **options: Any) -> AsyncIterator[Streamed]:
        """Send a GET request; return the response and its body in chunks."""
        _check_open(self.http)
        with self.http.stream("GET", path, **options) as response:
            if not response.is_success:
                response.read()
            yield response, _async_iterator(response.iter_raw() if raw else response.iter_bytes())

    async def send(self, path: str, chunks: Iterator[bytes], **options: Any) -> httpx.Response:
        """Send a PATCH request with a body in chunks, and return the response."""
        _check_open(self.http)
        return self.http.patch(path, content=chunks, **options)

    async def sleep(self, seconds: float) -> None:
        """Sleep for so many seconds."""
        time.sleep(seconds)

    async def close(self) -> None:
        """Close the connections."""
        self.http.close()


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine over a blocking transport and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    raise AssertionError("a coroutine over a blocking transport was suspended")


def stepped(coroutine: AsyncGenerator[T, None]) -> Iterator[T]:
    """Run an asynchronous generator over a blocking transport and yield its items."""
    try:
        while True:
            try:
                item = finished(_next(coroutine))
            except StopAsyncIteration:
                return
            yield item
    finally:
        finished(coroutine.aclose())


async def _next(coroutine: AsyncGenerator[T, None]) -> T:
    return await coroutine.__anext__()


def _check_open(http: httpx.Client | httpx.AsyncClient) -> None:
    if http.is_closed:
        raise Conflict("this client is closed: make another, or use it before its `with` ends")


async def _async_iterator(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
