"""Uvicorn's HTTP/1.1 protocol with limits on how long a request may take to arrive.

Uvicorn limits the time between two requests, but not the time that a request's head or body takes.
"""

from __future__ import annotations

import asyncio
from typing import Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ipulse_service.http import log_context as log
from ipulse_service.http import problems

HEAD_SECONDS = 20.0  # from the connection, or a request's first byte, until its head is complete
BODY_SECONDS = 60.0  # between two parts of a body

_TOO_SLOW = "no complete request head arrived within {:g} seconds; send it without pauses"


class SlowClientProtocol(H11Protocol):
    """Disconnects clients that open a connection and do not send their request.

    Overrides public methods of `asyncio.Protocol` and reads h11's public state.
    """

    _timer: asyncio.TimerHandle | None = None
    _awaited: Literal["head", "body"] | None = None  # what the client has to send next
    _is_new = True  # no request has arrived yet

    def connection_made(  # type: ignore[override]  # uvicorn narrows the argument, too
        self, transport: asyncio.Transport
    ) -> None:
        """Starts to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Handles the data and restarts the timer where that is due."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the timer."""
        super().connection_lost(exc)
        self._wait_for(None)

    def _watch(self) -> None:
        state = self.conn.their_state
        self._is_new = self._is_new and state is h11.IDLE
        if state is h11.SEND_BODY:
            self._wait_for("body")  # each part restarts the timer
        elif state is not h11.IDLE or not (self._is_new or self.conn.trailing_data[0]):
            self._wait_for(None)  # between two requests uvicorn's keep-alive timeout applies
        elif self._awaited != "head":
            self._wait_for("head")  # from the first byte on, in however many parts it arrives

    def _wait_for(self, awaited: Literal["head", "body"] | None) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._awaited = awaited
        if awaited and not self.transport.is_closing():
            seconds = HEAD_SECONDS if awaited == "head" else BODY_SECONDS
            self._timer = self.loop.call_later(seconds, self._time_out)

    def _time_out(self) -> None:
        if self._awaited == "head" and self.conn.trailing_data[0]:
            self._refuse()
        elif self._awaited == "body" and (
            self.flow.read_paused or self.conn.they_are_waiting_for_100_continue
        ):
            self._wait_for("body")  # the application has not asked for the next part
        else:
            self.transport.close()  # an application that reads the body sees a disconnect

    def _refuse(self) -> None:
        log.request_id.set("")
        detail = _TOO_SLOW.format(HEAD_SECONDS)
        body = bytes(problems.document("", 408, "too_slow", detail).body)
        head = (
            "HTTP/1.1 408 Request Timeout\r\n"
            f"content-type: {problems.MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\n"
            "x-content-type-options: nosniff\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
