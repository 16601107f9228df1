"""The outermost middleware: what every request and response needs, whatever its route."""

from __future__ import annotations

import logging
import re
import secrets
import time
from urllib.parse import unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ipulse_core.errors import IPUlseError, NotFound, Problem
from ipulse_service.http import log_context as log
from ipulse_service.http import methods, problems
from ipulse_service.http.metrics import NO_ROUTE, Metrics
from ipulse_service.http.server.request_log import RequestLog

# A browser must not interpret responses. The files of the web page set headers of their own.
_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox; form-action 'none'; "
    "frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_METHODS = frozenset({*methods.METHODS, "OPTIONS"})
_ABSOLUTE = re.compile(rb"https?://([^/]*)(.*)", re.IGNORECASE)
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

_log = logging.getLogger(__name__)


class RequestMiddleware:
    """Gives each request an id, security headers, metrics and a line in the log."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._request_log = RequestLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on and completes its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent_id = Headers(scope=scope).get("x-request-id", "")
        request_id = sent_id if _ID.fullmatch(sent_id) else secrets.token_hex(8)
        log.request_id.set(request_id)
        log.bound.set({})
        began = time.monotonic()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message["headers"])
                headers["x-request-id"] = request_id
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            status = status or 499  # the client has closed the connection
        except Exception:  # no request ends without a response
            _log.exception("request_failed")
            if status:
                raise  # the response has begun, so that the server closes the connection
            detail = "an unexpected error; the service's log has it under this request_id"
            response = problems.document(scope["path"], 500, "internal_error", detail)
            await response(scope, receive, send_with_headers)
        finally:
            seconds = time.monotonic() - began
            route = _template(scope)
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.record_request(method, route, status, seconds)
            facts = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "ms": round(seconds * 1000, 2),
            }
            self._request_log.write(facts, has_token="caller" in scope.get("state", {}))


class ProtocolMiddleware:
    """Applies the rules of HTTP that uvicorn leaves to applications (RFC 9110 and 9112)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on in its usual form, or refuses it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and (
            "content-length" in headers or scope["http_version"] == "1.0"
        ):
            # A proxy in front may have taken the other length: what follows may be an attack.
            response = problems.response(scope["path"], problems.AmbiguousLength(()))
            response.headers["connection"] = "close"
            await response(scope, receive, send)
            return
        if target := _ABSOLUTE.fullmatch(scope["raw_path"]):
            _use_absolute_form(scope, *target.groups())
        if error := _error_of_nul(scope):
            await problems.response(scope["path"], error)(scope, receive, send)
            return
        if scope["method"] != "GET" and "range" in headers:
            # Ranges are defined for GET only.
            scope["headers"] = [item for item in scope["headers"] if item[0] != b"range"]
        if scope["method"] == "HEAD" and not methods.has_route(scope, "HEAD"):
            await methods.answer_head(self._app, scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _error_of_nul(scope: Scope) -> IPUlseError | None:
    """Returns why an address with a NUL, which PostgreSQL takes in no text, is refused."""
    if "\0" in scope["path"] and scope["path"].startswith("/v1/"):
        return NotFound("nothing has a name or id with the character NUL (%00)")
    if b"%00" in scope["query_string"]:
        detail = "has the character NUL (%00), which nothing here contains"
        return problems.InvalidParameter([Problem("/query", "wrong_form", detail)])
    return None


def _use_absolute_form(scope: Scope, authority: bytes, raw_path: bytes) -> None:
    """Takes host and path from a target that is a whole URL; the Host header does not count."""
    raw_path = raw_path or b"/"
    others = [item for item in scope["headers"] if item[0] != b"host"]
    scope["headers"] = [(b"host", authority), *others]
    scope["raw_path"] = raw_path
    scope["path"] = unquote(raw_path.decode("ascii"))


def _template(scope: Scope) -> str:
    """Returns the path template of the route, of which there are few."""
    path: str = getattr(scope.get("route"), "path", NO_ROUTE)
    return path
