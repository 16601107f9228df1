"""HTTP/1.1 as uvicorn speaks it, with problem documents where no request could be read, and an
end to waiting for one."""

from __future__ import annotations

import asyncio
import threading
from http import HTTPStatus
from typing import Literal

import h11
from h11._readers import ContentLengthReader
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol

from ipulse_service.http import log_context as log
from ipulse_service.http import problems

# Nothing of ours is near these: the head of a request is one packet, and agents and clients send
# a body as fast as it is taken.
HEAD_SECONDS = 20.0  # from a request's first byte, or from the connection, until its head is whole
BODY_SECONDS = 60.0  # between two parts of a body

_READ_BYTES = 2**20  # at once: a part costs more than its bytes do

_TOO_SLOW = "no whole head of a request came within {:g} seconds; send it again, without pauses"
Owed = Literal["head", "body"] | None  # what a client has to send next


class _Room(threading.local):
    """Where a thread's event loop reads into; nothing of one reading is needed at the next."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_READ_BYTES))


_room = _Room()


class Protocol(H11Protocol, asyncio.BufferedProtocol):
    """Refuses what is no HTTP before there is an application to ask, and hangs up on those who
    open connections and then say nothing, or a letter now and then."""

    _patience: asyncio.TimerHandle | None = None
    _owed: Owed = None
    _is_new = True  # no request has come yet

    def connection_made(  # type: ignore[override] # as uvicorn narrows it
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        self._watch()

    def get_buffer(self, sizehint: int) -> memoryview:
        return _room.view

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(_room.view[:nbytes])
        if not self._goes_past_h11(data):
            self.data_received(data)
        self._watch()

    def _goes_past_h11(self, data: bytes) -> bool:
        """Hands on what is amid a body of known length. All that h11 does with it is to count, and
        to copy it three times: much of the time that a large file takes to arrive. The counter
        is h11's own: another version than the locked one may have none, and then no body arrives.
        """
        reader = self.conn._reader
        if (
            not isinstance(reader, ContentLengthReader)
            or len(data) >= reader._remaining
            or self.conn.our_state is h11.DONE  # nobody reads it any more
            or self.conn.they_are_waiting_for_100_continue
            or self.conn.trailing_data[0]
        ):
            return False
        reader._remaining -= len(data)
        body = self.cycle.body + data if self.cycle.body else data
        self.cycle.body = body  # type: ignore[assignment] # uvicorn makes bytes of it anyway
        if len(body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        self.cycle.message_event.set()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._expect(None)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "not_http", msg)

    def _watch(self) -> None:
        state = self.conn.their_state
        self._is_new = self._is_new and state is h11.IDLE
        if state is h11.SEND_BODY:
            self._expect("body")  # anew with each part
        elif state is not h11.IDLE or not (self._is_new or self.conn.trailing_data[0]):
            self._expect(None)  # between two requests uvicorn has a patience of its own
        elif self._owed != "head":
            self._expect("head")  # from the first byte on, in however many parts it comes

    def _expect(self, owed: Owed) -> None:
        if self._patience:
            self._patience.cancel()
            self._patience = None
        self._owed = owed
        if owed and not self.transport.is_closing():
            seconds = HEAD_SECONDS if owed == "head" else BODY_SECONDS
            self._patience = self.loop.call_later(seconds, self._hang_up)

    def _hang_up(self) -> None:
        if self._owed == "head" and self.conn.trailing_data[0]:
            self._refuse(408, "too_slow", _TOO_SLOW.format(HEAD_SECONDS))
        elif self._owed == "body" and (
            self.flow.read_paused or self.conn.they_are_waiting_for_100_continue
        ):
            self._expect("body")  # it is we who do not take it
        else:
            self.transport.close()  # for an application that reads a body, its client is gone

    def _refuse(self, status: int, code: str, detail: str) -> None:
        log.request_id.set("")
        body = bytes(problems.document("", status, code, detail).body)
        headers = [
            ("content-type", problems.MEDIA_TYPE),
            ("content-length", str(len(body))),
            ("x-content-type-options", "nosniff"),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
