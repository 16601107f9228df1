"""The connections that the kernel has accepted and the event loop has not."""

from __future__ import annotations

import socket
import struct
from typing import Any

_INFO_BYTES = 104  # of the kernel's `struct tcp_info`; later fields are not read
_UNACKED = struct.Struct("=I")
_UNACKED_AT = 24  # of a listening socket, `tcpi_unacked` is the length of its queue


class Listener(socket.socket):
    """A listening socket that counts the connections that the event loop has accepted."""

    accepted = 0

    @classmethod
    def of(cls, listener: socket.socket) -> Listener:
        """Takes over a listening socket, which can no longer be used itself."""
        return cls(fileno=listener.detach())

    def accept(self) -> tuple[socket.socket, Any]:
        """Accepts a connection."""
        accepted = super().accept()
        self.accepted += 1
        return accepted


def waiting(listener: socket.socket) -> int:
    """Returns how many connections to a listening socket wait; 0 if it is closed."""
    if listener.fileno() < 0 or not hasattr(socket, "TCP_INFO"):
        return 0
    info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    return int(_UNACKED.unpack_from(info, _UNACKED_AT)[0])
