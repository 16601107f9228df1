"""The asynchronous client: the same calls as `Client`, for asyncio and trio."""

from __future__ import annotations

from types import TracebackType

from .client_base import ClientBase
from .location import PathLike, find_service
from .transport.connection import options_for
from .transport.transports import AsyncTransport


class AsyncClient(ClientBase):
    """The asynchronous form of `Client`: every method does the same and raises the same errors.

    It belongs to the event loop that uses it first. In another loop, and after `close`, it raises
    Conflict.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        token_file: PathLike | None = None,
        home: PathLike | None = None,
        ca: PathLike | None = None,
        timeout: float = 30.0,
        retries: int = 4,
    ) -> None:
        service = find_service(url, token, token_file, home, ca=ca)
        transport = AsyncTransport(**options_for(service, timeout))
        super().__init__(service.url, transport, timeout, retries)
        self._http = transport.http

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
