"""Who may do what. Nothing is open unless it is listed here, and a new route needs a user."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, cast

from fastapi import Request, Security
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ipulse_core.errors import IPUlseError, NotAuthenticated, NotPermitted, Unavailable
from ipulse_service.db import tokens as issued
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.http import problems, web
from ipulse_service.settings import Settings, read_token

Role = Literal["owner", "user", "reader", "worker"]
# They answer without a token: two say next to nothing, the others are the page without its data.
OPEN_PATHS = frozenset({"/healthz", "/readyz", *web.FILES})

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True)
class Caller:
    """Whose token came with a request."""

    name: str
    role: Role
    token_id: str | None = None  # of a token that was handed out, and may expire

    def is_known(self, transaction: Transaction) -> bool:
        """Whether the token is still good, for an answer that takes long."""
        return self.token_id is None or issued.is_good(transaction, self.token_id)


class Tokens:
    """The digests of the two tokens in files; the tokens themselves are not kept."""

    def __init__(self, user: str, worker: str) -> None:
        if hmac.compare_digest(user, worker):
            raise Unavailable("the user's token and the worker's must differ")
        self._callers = (
            (_digest(user), Caller("user", "owner")),
            (_digest(worker), Caller("worker", "worker")),
        )

    @classmethod
    def read(cls, settings: Settings) -> Tokens:
        """Raises Unavailable, naming the file that is missing."""
        return cls(read_token(settings.token_file), read_token(settings.worker_token_file))

    def caller(self, authorization: str) -> Caller:
        """Raises NotAuthenticated. Takes the same time whichever token is wrong."""
        scheme, _, token = authorization.partition(" ")
        digest = _digest(token.strip())
        found = None
        for expected, caller in self._callers:
            if hmac.compare_digest(digest, expected):
                found = caller
        if found is None or scheme.lower() != "bearer":
            raise NotAuthenticated()
        return found


class Gate:
    """Stands before every route, also those of the framework: no token, no answer."""

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
        self._under_way: Counter[str] = Counter()  # requests by the name of their caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a connection that no token was asked for goes nowhere
        headers = Headers(scope=scope)
        name = ""  # of nobody: what is open to everybody is quick
        try:
            self._check_host(scope["path"], headers)
            if scope["path"] not in OPEN_PATHS:
                caller = await self._caller(headers.get("authorization", ""))
                scope.setdefault("state", {})["caller"] = caller
                name = caller.name
                if self._under_way[name] >= self._max_requests:
                    raise problems.TooManyRequests()
        except IPUlseError as error:
            await problems.response(scope["path"], error)(scope, receive, send)
            return
        self._under_way[name] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way[name] -= 1
            if not self._under_way[name]:
                del self._under_way[name]  # of tokens there may be many

    async def _caller(self, authorization: str) -> Caller:
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() == "bearer" and text.startswith(issued.PREFIX):
            return await run_in_threadpool(self._issued_to, text.strip())
        return self._tokens.caller(authorization)

    def _issued_to(self, text: str) -> Caller:
        with self._database.read() as transaction:
            token = issued.find(transaction, text)
        if token is None:
            raise NotAuthenticated()
        return Caller(f"token {token.id}", cast(Role, token.role), token.id)

    def _check_host(self, path: str, headers: Headers) -> None:
        # A page on some other name can make a browser come here (DNS rebinding), but the
        # browser then says that other name.
        for name in (headers.get("host", ""), *_origin_hosts(headers)):
            if _without_port(name) not in self._allowed_hosts:
                raise problems.WrongHost(
                    (), f"the name {name[:100]!r} is not one of this service's allowed hosts"
                )
        # What a browser says of itself cannot be forged by the page in it. A link to the page is
        # harmless: it holds no data, and no other page may frame it.
        is_link = path in web.FILES and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_link:
            raise problems.WrongHost((), "a page of another site made a browser ask this")


def open_to(*roles: Role) -> Callable[[_Endpoint], _Endpoint]:
    """Marks an endpoint that other roles than a user may call."""

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
    if request.scope["path"] in OPEN_PATHS:
        return
    roles = getattr(request.scope["endpoint"], "roles", frozenset({"user"}))
    caller: Caller = request.state.caller
    may = {caller.role}
    if caller.role == "owner":
        may.add("user")
    if caller.role == "reader" and request.method in ("GET", "HEAD"):
        may.add("user")
    if not may & roles:
        raise NotPermitted(f"this takes the token of a {' or '.join(sorted(roles))}")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _origin_hosts(headers: Headers) -> list[str]:
    return [origin.partition("://")[2] for origin in headers.getlist("origin")]


def _without_port(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()
