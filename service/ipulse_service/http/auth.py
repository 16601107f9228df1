"""Authentication by bearer token or session cookie, and authorisation by role.

Every path needs one unless it is listed in OPEN_PATHS or is a view of the page. A route needs the
role `user` unless `open_to` names other roles.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, TypeVar, cast

from fastapi import Request, Security
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ipulse.environment_settings import read_token
from ipulse_core.errors import IPUlseError, NotAuthenticated, NotPermitted, Unavailable
from ipulse_core.messages import MIN_TOKEN_LENGTH
from ipulse_service.agents import join_tokens
from ipulse_service.db import tokens as issued
from ipulse_service.db import web_sessions
from ipulse_service.db.engine import Database
from ipulse_service.http import cookies, problems, web
from ipulse_service.http.caller import Caller, Role
from ipulse_service.http.web import lost
from ipulse_service.settings import Settings

# Paths that need no token: the health checks, and the files of the web page, which contain no data.
OPEN_PATHS = frozenset({"/healthz", "/readyz", *web.FILES})

# Paths that take the expired token of an agent's own: one that was away renews it, or leaves.
RETURN_PATHS = frozenset({"/v1/worker/token", "/v1/worker/leave"})

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])


class Tokens:
    """The SHA-256 digests of the two tokens in files; the tokens themselves are not stored."""

    def __init__(self, user: str, worker: str) -> None:
        if hmac.compare_digest(user, worker):
            raise Unavailable("the user's token and the worker's must differ")
        self._callers = (
            (_digest(user), Caller("user", "owner")),
            (_digest(worker), Caller("worker", "worker")),
        )

    @classmethod
    def read(cls, settings: Settings) -> Tokens:
        """Reads the token files. Raises Unavailable, which names the missing file."""
        hint = (
            f"`ipulse up` writes one; or write {MIN_TOKEN_LENGTH} or more random characters to the "
            "file"
        )
        return cls(
            read_token(settings.token_file, hint), read_token(settings.worker_token_file, hint)
        )

    def caller(self, authorization: str) -> Caller:
        """Returns the owner of a token, in constant time. Raises NotAuthenticated."""
        scheme, _, token = authorization.partition(" ")
        digest = _digest(token.strip())
        match = None
        for expected, caller in self._callers:
            if hmac.compare_digest(digest, expected):
                match = caller
        if match is None or scheme.lower() != "bearer":
            raise NotAuthenticated()
        return match

    def mark(self, caller: Caller) -> str:
        """Returns what changes with the token in the caller's file; "" for an issued token."""
        if caller.token_id is not None:
            return ""
        digest = next(digest for digest, known in self._callers if known.role == caller.role)
        return hashlib.sha256(b"session:" + digest).hexdigest()


class AuthenticationMiddleware:
    """Refuses requests without a valid token, for any path: also those that no route has."""

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        database: Database,
        allowed_hosts: tuple[str, ...],
        max_requests: int,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._database = database
        self._allowed_hosts = frozenset(allowed_hosts)
        self._max_requests = max_requests
        self._in_progress: Counter[str] = Counter()  # requests by the name of their caller
        self._counting = threading.Lock()  # they come on several event loops

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on if its token is valid."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # WebSockets are not served, and no token was checked
        headers = Headers(scope=scope)
        name = ""
        try:
            is_lost = lost.is_lost(scope, headers)
            self._check_host(headers, is_page=is_lost or _is_page(scope["path"]))
            if is_lost:
                await lost.respond(scope)(scope, receive, send)
                return
            if scope["path"] not in OPEN_PATHS and not web.is_view(scope["path"]):
                caller = await self._caller(scope, headers)
                scope.setdefault("state", {})["caller"] = caller
                name = caller.name
            self._count(name)
        except IPUlseError as error:
            await problems.response(scope["path"], error)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            with self._counting:
                self._in_progress[name] -= 1
                if not self._in_progress[name]:
                    del self._in_progress[name]  # there may be many tokens

    def _count(self, name: str) -> None:
        with self._counting:
            if name and self._in_progress[name] >= self._max_requests:
                raise problems.TooManyRequests()
            self._in_progress[name] += 1

    async def _caller(self, scope: Scope, headers: Headers) -> Caller:
        authorization = headers.get("authorization", "")
        if not authorization and (text := cookies.read(scope, headers)):
            caller = await run_in_threadpool(self._with_session, "session", text)
            cookies.check_change(scope, headers)
            return caller
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() == "bearer" and text.startswith(issued.PREFIX):
            return await run_in_threadpool(self._issued_to, text.strip(), scope["path"])
        if scheme.lower() == "bearer" and text.startswith(join_tokens.PREFIX):
            return await run_in_threadpool(self._joining, text.strip())
        if scheme.lower() == "bearer" and text.startswith(web_sessions.CODE_PREFIX):
            return await run_in_threadpool(self._with_session, "code", text.strip())
        return self._tokens.caller(authorization)

    def _with_session(self, kind: web_sessions.Kind, text: str) -> Caller:
        with self._database.read() as transaction:
            session = web_sessions.find(transaction, kind, text)
        signed_in = session.signed_in
        role = cast(Role, signed_in.role)
        caller = Caller(
            signed_in.name,
            role,
            signed_in.token_id,
            session_id=session.id,
            session_ends_at=session.expires_at,
            signed_in=signed_in,
            submit_code=session.submit_code,
        )
        if not hmac.compare_digest(self._tokens.mark(caller), signed_in.token_mark):
            raise NotAuthenticated("the token of this session has changed: sign in again")
        return caller if kind == "session" else replace(caller, role="code")

    def _issued_to(self, text: str, path: str) -> Caller:
        with self._database.read() as transaction:
            token = issued.find(transaction, text, may_have_expired=path in RETURN_PATHS)
        if token is None:
            raise NotAuthenticated()
        return Caller(
            f"token {token.id}",
            cast(Role, token.role),
            token.id,
            token.agent,
            submit_code=token.submit_code,
        )

    def _joining(self, text: str) -> Caller:
        with self._database.read() as transaction:
            token = join_tokens.find(transaction, text)
        return Caller(f"join token {token.id}", "join", token.id)

    def _check_host(self, headers: Headers, is_page: bool) -> None:
        # DNS rebinding: a page of another name can make a browser connect to this service, but the
        # browser then sends that other name.
        for name in (headers.get("host", ""), *_origin_hosts(headers)):
            if _without_port(name) not in self._allowed_hosts:
                raise problems.WrongHost(
                    (), f"{name[:100]!r} is not one of this service's allowed hosts"
                )
        # A page cannot forge the Sec-Fetch headers of its browser. A link to the web page is
        # harmless: the page contains no data, and no other page may frame it.
        is_link = is_page and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_link:
            raise problems.WrongHost(
                (), "a page of another site made the browser send this request"
            )


def _is_page(path: str) -> bool:
    return path in web.FILES or web.is_view(path)


def open_to(*roles: Role) -> Callable[[_Endpoint], _Endpoint]:
    """Returns a decorator that names the roles that may call an endpoint, instead of `user`."""

    def mark(endpoint: _Endpoint) -> _Endpoint:
        endpoint.roles = frozenset(roles)  # type: ignore[attr-defined]
        return endpoint

    return mark


_BEARER = HTTPBearer(
    auto_error=False, description="A token file's content, or what `ipulse token create` prints."
)


# The middleware has authenticated the caller; the scheme is here for the OpenAPI document.
async def permit(request: Request, _scheme: Annotated[object, Security(_BEARER)]) -> None:
    """Checks the role of the caller; a dependency of all routes. Raises NotPermitted."""
    if request.scope["path"] in OPEN_PATHS or web.is_view(request.scope["path"]):
        return
    roles = getattr(request.scope["endpoint"], "roles", frozenset({"user"}))
    caller: Caller = request.state.caller
    may = {caller.role}
    if caller.role == "owner":
        may.add("user")
    if caller.role == "reader" and request.method in ("GET", "HEAD"):
        may.add("user")
    if not may & roles:
        raise NotPermitted(f"this needs a token with the role {' or '.join(sorted(roles))}")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _origin_hosts(headers: Headers) -> list[str]:
    return [origin.partition("://")[2] for origin in headers.getlist("origin")]


def _without_port(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()
