"""The socket on which a service listens, made by itself or by whoever starts it.

One that is there before the service holds the connections of those who come too early until they
are answered, and its port is known while the service still imports.
"""

from __future__ import annotations

import socket

from ipulse_core.errors import Unavailable

BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Port 0 takes a free one. Raises Unavailable when the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's delay off only where a socket says that it is TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        cure = "set IPULSE_HOST and IPULSE_PORT to a free address; port 0 takes any free port"
        raise Unavailable(f"cannot listen on {host}:{port} ({error.strerror}): {cure}") from error
    return listener


def url_at(host: str, port: int, is_tls: bool) -> str:
    """What answers on such a socket is asked under this address."""
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if is_tls else 'http'}://{shown}:{port}"
