"""The cookie of a browser's session, and the checks of requests that come with it."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import Scope

from ipulse_core.errors import NotPermitted

PAGE_HEADER = "x-ipulse-page"  # a form of another site cannot send it
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def read(scope: Scope, headers: Headers) -> str:
    """Returns the text of the session in a request's cookie, "" without one."""
    name = _name(scope, headers)
    return next(
        (
            cookie_parser(line)[name]
            for line in headers.getlist("cookie")
            if name in cookie_parser(line)
        ),
        "",
    )


def check_change(scope: Scope, headers: Headers) -> None:
    """Raises NotPermitted for a change that the page of this service has not sent."""
    if scope["method"] in _SAFE:
        return
    origin = urlsplit(headers.get("origin", ""))
    if origin.netloc.lower() != headers.get("host", "").lower() or PAGE_HEADER not in headers:
        raise NotPermitted(
            "a session changes something only from this service's own page: send the token in the "
            "Authorization header instead"
        )


def write(scope: Scope, response: Response, text: str, seconds: int) -> None:
    """Sets the cookie of a session; an empty text removes it."""
    headers = Headers(scope=scope)
    response.set_cookie(
        _name(scope, headers),
        text,
        max_age=seconds if text else 0,
        path="/",
        secure=scope["scheme"] == "https",
        httponly=True,
        samesite="strict",
    )


def write_login(scope: Scope, response: Response, text: str, seconds: int) -> None:
    """Sets the cookie that ties the way back from a provider to this browser."""
    response.set_cookie(
        _login_name(scope),
        text,
        max_age=seconds if text else 0,
        path="/",
        secure=scope["scheme"] == "https",
        httponly=True,
        samesite="lax",  # the provider's page sends the browser back
    )


def read_login(scope: Scope) -> str:
    """Returns the text of that cookie, "" without one."""
    headers = Headers(scope=scope)
    name = _login_name(scope)
    found = (cookie_parser(line).get(name) for line in headers.getlist("cookie"))
    return next((text for text in found if text), "")


def _login_name(scope: Scope) -> str:
    return "__Host-ipulse-login" if scope["scheme"] == "https" else "ipulse-login"


def _name(scope: Scope, headers: Headers) -> str:
    """Returns the cookie's name; cookies ignore ports, and a machine may have several stacks."""
    if scope["scheme"] == "https":
        return "__Host-ipulse-session"
    port = headers.get("host", "").rpartition(":")[2]
    return f"ipulse-session-{port}" if port.isdecimal() else "ipulse-session"
