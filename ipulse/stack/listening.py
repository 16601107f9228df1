"""The listening socket of a service, created by the service or by its starter.

If the starter creates it, the port is known while the service still imports, and early connections
wait until the service answers.
"""

from __future__ import annotations

import ipaddress
import socket

from ipulse_core.errors import Unavailable

BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 chooses a free one.

    Raises Unavailable if the address is in use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only if the socket names the protocol TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        hint = "set IPULSE_HOST and IPULSE_PORT to a free address; port 0 takes any free port"
        place = f"{bracketed(host)}:{port}"
        raise Unavailable(f"cannot listen on {place} ({error.strerror}): {hint}") from error
    return listener


def plain_host(text: str) -> str:
    """Return a host as sockets take it: an IPv6 address without brackets."""
    is_bracketed = text.startswith("[") and text.endswith("]") and ":" in text
    return text[1:-1] if is_bracketed else text


def bracketed(host: str) -> str:
    """Return a host as addresses of the web have it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Return whether a name or address is this machine's own, which no other machine reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def url_at(host: str, port: int, is_tls: bool) -> str:
    """Return the URL of a service on such a socket."""
    return f"{'https' if is_tls else 'http'}://{bracketed(host)}:{port}"
