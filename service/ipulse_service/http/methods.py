"""Which methods a resource has: the Allow header, and HEAD wherever there is GET (RFC 9110)."""

from __future__ import annotations

from typing import cast

import anyio
from fastapi import FastAPI
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def allowed_methods(scope: Scope) -> list[str]:
    """Returns the methods that the resource at the request's path has, of all its routes."""
    methods = [method for method in METHODS if has_route(scope, method)]
    if "GET" in methods and "HEAD" not in methods:
        methods.insert(1, "HEAD")
    return methods


def has_route(scope: Scope, method: str) -> bool:
    """Checks whether a route takes this method at the request's path."""
    tried = {**scope, "method": method}
    routes = cast(FastAPI, scope["app"]).router.routes
    return any(route.matches(tried)[0] is Match.FULL for route in routes)


async def answer_head(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers HEAD with the head of the response to GET; a stream is not begun."""
    as_get = {**scope, "method": "GET"}

    async def send_head(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})
            rest.cancel()

    try:
        with anyio.CancelScope() as rest:
            await app(as_get, receive, send_head)
    finally:
        scope["route"] = as_get.get("route")  # for the metrics


def build_routes(app: FastAPI) -> None:
    """Builds the routes, which FastAPI otherwise does on the event loop, at the first request."""
    scope = {"type": "http", "app": app, "path": "/no/such/path", "root_path": "", "headers": []}
    allowed_methods(scope)
