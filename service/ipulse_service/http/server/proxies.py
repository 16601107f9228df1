"""What a trusted proxy says of the address that clients see.

It names their scheme, since it may be the one that speaks TLS, and the path below which it shows
the service, such as /user/ada/proxy/8470 of JupyterHub. The page needs no such path, since its
addresses are relative; `Location` headers have it. Anybody else could lead clients elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address
from urllib.parse import unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# In this order: nginx and Traefik, jupyter-server-proxy, JupyterHub.
_HEADERS = ("x-forwarded-prefix", "x-forwarded-context", "x-proxycontextpath")
_KEY = "ipulse.prefix"  # of a scope
_PREFIX = re.compile(r"(/[A-Za-z0-9_.~@%+-]+)+")


class ProxyMiddleware:
    """Takes scheme and prefix from a trusted proxy; `Location` gets the prefix, the path none."""

    def __init__(self, app: ASGIApp, trusted_proxies: Sequence[IPv4Network | IPv6Network]) -> None:
        self._app = app
        self._trusted = trusted_proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""
        if scope["type"] != "http" or not self._is_trusted(scope["client"]):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if headers.get("x-forwarded-proto") in ("http", "https"):
            scope = {**scope, "scheme": headers["x-forwarded-proto"]}
        prefix = _prefix_in(headers)
        if not prefix:
            await self._app(scope, receive, send)
            return

        async def send_below(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                location = headers.get("location", "")
                if location.startswith("/") and not location.startswith("//"):
                    headers["location"] = prefix + location
            await send(message)

        scope = {**scope, _KEY: prefix}
        if scope["path"].startswith(f"{unquote(prefix)}/"):  # the proxy passes whole paths on
            rest = scope["path"].removeprefix(unquote(prefix))
            raw = scope["raw_path"].removeprefix(prefix.encode())
            scope = {**scope, "path": rest, "raw_path": raw}
        await self._app(scope, receive, send_below)

    def _is_trusted(self, client: tuple[str, int] | None) -> bool:
        try:
            address = ip_address(client[0] if client else "")
        except ValueError:  # a Unix socket
            return False
        return any(address in network for network in self._trusted)


def _prefix_in(headers: Headers) -> str:
    named = next((headers[name] for name in _HEADERS if name in headers), "").rstrip("/")
    return named if _PREFIX.fullmatch(named) and ".." not in named else ""


def address_of(request: Request, path: str) -> str:
    """Returns the address of a path of the service, as the client of a request sees it."""
    below = request.scope.get(_KEY, "")
    return f"{request.url.scheme}://{request.headers.get('host', '')}{below}{path}"
