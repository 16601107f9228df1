"""Sends calls with retries."""

from __future__ import annotations

from typing import TypeVar

import httpx

from ipulse.client.transport.api_call import APICall
from ipulse.client.transport.connection import WaitDeadline
from ipulse.client.transport.retries import RetryPolicy
from ipulse.client.transport.transports import AsyncTransport

T = TypeVar("T")


class AsyncCallSender:
    """Sends calls to the service at `url`.

    Attributes:
        url: The address of the service.
    """

    def __init__(self, url: str, transport: AsyncTransport, timeout: float, retries: int) -> None:
        self.url = url
        self._transport = transport
        self._timeout = timeout
        self._retries = retries

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def _send(
        self, call: APICall[T], tries: int | None = None, deadline: WaitDeadline | None = None
    ) -> T:
        retries = RetryPolicy(self.url, self._retries if tries is None else tries)
        options = {} if call.timeout is None else {"timeout": call.timeout}
        while True:
            try:
                response = await self._transport.request(
                    call.method,
                    call.path,
                    params=call.params,
                    headers=call.headers,
                    content=call.content,
                    **options,
                )
            except httpx.TransportError as error:
                delay = retries.after_error(error)
            else:
                asked = retries.after_answer(response)
                if asked is None:
                    return call.answer(response)
                delay = asked
            await self._transport.sleep(delay if deadline is None else deadline.pause(delay))
