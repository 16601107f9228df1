"""What every exchange gets: an id, the headers that harden it, a line in the log, a last resort."""

from __future__ import annotations

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.metrics import NO_ROUTE, Metrics

# A browser that is led here must make nothing of the answers. The page's files say otherwise.
_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

_log = logging.getLogger(__name__)


class RequestMiddleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wanted = Headers(scope=scope).get("x-request-id", "")
        request_id = wanted if _ID.fullmatch(wanted) else secrets.token_hex(8)
        log.request_id.set(request_id)
        log.about.set({})
        began = time.monotonic()
        status = 0

        async def send_hardened(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message["headers"])
                headers["x-request-id"] = request_id
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_hardened)
        except ClientDisconnect:
            status = status or 499  # nobody is left to read an answer
        except Exception:  # the last resort: no request ends without an answer
            _log.exception("request_failed")
            if status:
                raise  # too late for another answer: the server cuts the connection
            detail = "an error that nobody foresaw; the service's log has it under this request_id"
            answer = problems.document(scope["path"], 500, "internal_error", detail)
            await answer(scope, receive, send_hardened)
        finally:
            seconds = time.monotonic() - began
            route = _template(scope)
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.answered(method, route, status, seconds)
            facts = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "ms": round(seconds * 1000, 2),
            }
            _log.info("request", extra=facts)


def _template(scope: Scope) -> str:
    """The path as its route is written, so that there are only so many of them."""
    path: str = getattr(scope.get("route"), "path", NO_ROUTE)
    return path
