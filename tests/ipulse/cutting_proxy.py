"""A TCP proxy that cuts connections in the middle of an answer."""

from __future__ import annotations

import socket
import struct

from tests.proxy import Proxy


class CuttingProxy(Proxy):
    """Forwards to a local port; the n-th connection dies after `cuts[n]` bytes of answer.

    Connections beyond the list live.
    """

    def __init__(self, port: int, cuts: list[int]) -> None:
        super().__init__(("127.0.0.1", port))
        self._left = dict(enumerate(cuts))

    def _answer(self, number: int, client: socket.socket, data: bytes) -> bool:
        if number not in self._left:
            return super()._answer(number, client, data)
        some = data[: self._left[number]]
        self._left[number] -= len(some)
        super()._answer(number, client, some)
        if self._left[number]:
            return True
        # Reset rather than closed, as by a machine that vanished.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False
