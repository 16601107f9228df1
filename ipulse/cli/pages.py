"""Addresses of the web page."""

from __future__ import annotations

from urllib.parse import quote

from ipulse.client import Connection


def sign_in_address(connection: Connection, path: str = "") -> str:
    """Return an address that signs a browser in, once and within ten minutes, and goes to a path.

    The code is behind the #, which browsers do not send, so that no log of a server has it.
    """
    then = f"?to={quote(path, safe='/')}" if path else ""
    return f"{connection.url.rstrip('/')}/login{then}#code={connection.create_sign_in_code()}"
