"""How a conversation reaches the network: awaiting it, or blocking until it answers."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import (
    Any,
    AsyncContextManager,
    AsyncGenerator,
    AsyncIterator,
    Coroutine,
    Iterator,
    Optional,
    Protocol,
    Tuple,
    TypeVar,
    Union,
)

import anyio
import httpx
from anyio.lowlevel import current_token

from ipulse_core.errors import Conflict

T = TypeVar("T")

Streamed = Tuple[httpx.Response, AsyncIterator[bytes]]


class Transport(Protocol):
    """What a conversation needs of the world.

    Raises Conflict when it is used after `close`, or in another event loop than before.
    """

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response: ...

    def stream(self, path: str, raw: bool, **options: Any) -> AsyncContextManager[Streamed]:
        """GET: the response and its body in chunks; an error's body has been read already."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def close(self) -> None: ...


class Awaiting:
    """On asyncio and on trio; in one event loop, to which its connections belong."""

    def __init__(self, **options: Any) -> None:
        self.http = httpx.AsyncClient(**options)
        self._loop: Optional[object] = None

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        self._check()
        return await self.http.request(method, path, **options)

    @asynccontextmanager
    async def stream(self, path: str, raw: bool, **options: Any) -> AsyncIterator[Streamed]:
        self._check()
        async with self.http.stream("GET", path, **options) as response:
            if not response.is_success:
                await response.aread()
            yield response, response.aiter_raw() if raw else response.aiter_bytes()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def close(self) -> None:
        self._check_loop()
        await self.http.aclose()

    def _check(self) -> None:
        _check_open(self.http)
        self._check_loop()

    def _check_loop(self) -> None:
        here = current_token()
        if self._loop is None:
            self._loop = here
        if self._loop != here:
            raise Conflict(
                "an AsyncClient belongs to the event loop that used it first: make one in each "
                "asyncio.run, with `async with AsyncClient() as client`"
            )


class Blocking:
    """The same with coroutines that never suspend: `finished` and `stepped` run them."""

    def __init__(self, **options: Any) -> None:
        self.http = httpx.Client(**options)

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        _check_open(self.http)
        return self.http.request(method, path, **options)

    @asynccontextmanager
    async def stream(self, path: str, raw: bool, **options: Any) -> AsyncIterator[Streamed]:
        _check_open(self.http)
        with self.http.stream("GET", path, **options) as response:
            if not response.is_success:
                response.read()
            yield response, _unhurried(response.iter_raw() if raw else response.iter_bytes())

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def close(self) -> None:
        self.http.close()


def finished(conversation: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine over a Blocking transport."""
    try:
        conversation.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    raise AssertionError("a blocking conversation was suspended")


def stepped(conversation: AsyncGenerator[T, None]) -> Iterator[T]:
    """The items of an asynchronous generator over a Blocking transport."""
    try:
        while True:
            try:
                item = finished(_next(conversation))
            except StopAsyncIteration:
                return
            yield item
    finally:
        finished(conversation.aclose())


async def _next(conversation: AsyncGenerator[T, None]) -> T:
    return await conversation.__anext__()


def _check_open(http: Union[httpx.Client, httpx.AsyncClient]) -> None:
    if http.is_closed:
        raise Conflict("this client is closed: make another, or use it before its `with` ends")


async def _unhurried(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
