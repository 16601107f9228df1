"""The transports of the clients, asynchronous and blocking, with the same names."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx
from anyio.lowlevel import current_token

from ipulse_core.errors import Conflict


class AsyncTransport:
    """A transport for asyncio and trio, which belongs to one event loop.

    Raises Conflict when it is used after `close`, or in another event loop than before.
    """

    def __init__(self, **options: Any) -> None:
        self.http = httpx.AsyncClient(**options)
        self._loop: object | None = None

    async def request(
        self,
        method: str,
        path: str,
        content: bytes | Iterable[bytes] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """Send a request, with a body as a whole or in chunks, and return the response."""
        self._check()
        body = content if content is None or isinstance(content, bytes) else _chunks(content)
        return await self.http.request(method, path, content=body, **options)

    @asynccontextmanager
    async def stream(
        self, path: str, raw: bool, **options: Any
    ) -> AsyncIterator[tuple[httpx.Response, AsyncIterator[bytes]]]:
        """Send a GET request; return the response and its body in chunks.

        The body of an error has been read.
        """
        self._check()
        async with self.http.stream("GET", path, **options) as response:
            if not response.is_success:
                await response.aread()
            yield response, response.aiter_raw() if raw else response.aiter_bytes()

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
                "an AsyncConnection belongs to the event loop that used it first: make one in each "
                "asyncio.run, with `async with connect_async() as connection`"
            )


class Transport:
    """A transport of httpx.Client. Raises Conflict when it is used after `close`."""

    def __init__(self, **options: Any) -> None:
        self.http = httpx.Client(**options)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request, with a body as a whole or in chunks, and return the response."""
        _check_open(self.http)
        return self.http.request(method, path, **options)

    @contextmanager
    def stream(
        self, path: str, raw: bool, **options: Any
    ) -> Iterator[tuple[httpx.Response, Iterator[bytes]]]:
        """Send a GET request; return the response and its body in chunks.

        The body of an error has been read.
        """
        _check_open(self.http)
        with self.http.stream("GET", path, **options) as response:
            if not response.is_success:
                response.read()
            yield response, response.iter_raw() if raw else response.iter_bytes()

    def sleep(self, seconds: float) -> None:
        """Sleep for so many seconds."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()


def _check_open(http: httpx.Client | httpx.AsyncClient) -> None:
    if http.is_closed:
        raise Conflict("this client is closed: make another, or use it before its `with` ends")


async def _chunks(content: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in content:
        yield chunk
