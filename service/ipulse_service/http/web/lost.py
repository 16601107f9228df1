"""Answers a browser that opens an address which nothing has with the page, which says so."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Response
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import Scope

from ipulse_service.http import methods, web

_OF_PROGRAMS = ("/v1/", "/web/")  # always answered with a problem document


def is_lost(scope: Scope, headers: Headers) -> bool:
    """Checks whether a browser asks for an address that no route has."""
    return (
        scope["method"] in ("GET", "HEAD")
        and headers.get("accept", "").startswith("text/html")  # browsers name it first
        and not scope["path"].startswith(_OF_PROGRAMS)
        and not methods.allowed_methods(scope)
    )


def respond(scope: Scope) -> Response:
    """Returns the page with status 404, or leads to the view without a slash at its end."""
    path = scope["path"].rstrip("/")
    if web.is_view(path):
        query = scope["query_string"].decode("ascii", "ignore")
        # Relative, as the addresses of the page: a proxy may show it below another path.
        up = "../" * (scope["path"].count("/") - 1)
        return RedirectResponse(up + quote(path[1:]) + (f"?{query}" if query else ""), 308)
    file = web.page_at(scope)
    return Response(file.content, 404, {**file.headers, "cache-control": "no-store"})
