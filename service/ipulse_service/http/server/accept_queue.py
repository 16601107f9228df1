"""The connections that the kernel has accepted and the event loop has not."""

from __future__ import annotations

import socket
import struct

_INFO_BYTES = 104  # of the kernel's `struct tcp_info`; later fields are not read
_UNACKED = struct.Struct("=I")
_UNACKED_AT = 24  # of a listening socket, `tcpi_unacked` is the length of its queue


def waiting(listener: socket.socket) -> int:
    """Returns how many connections to a listening socket wait; 0 if it is closed."""
    if listener.fileno() < 0 or not hasattr(socket, "TCP_INFO"):
        return 0
    info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    return int(_UNACKED.unpack_from(info, _UNACKED_AT)[0])
