"""Authentication by bearer token or session cookie, and authorisation by role.

Every path needs one unless it is listed in OPEN_PATHS or is a view of the page. A route needs the
role `user` unless `open_to` names other roles.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import Request, Security
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ipulse import agent_tokens
from ipulse.environment_settings import read_token
from ipulse.key_file import key_in
from ipulse_core.errors import IPUlseError, NotAuthenticated, NotPermitted, Unavailable
from ipulse_core.messages import MIN_TOKEN_LENGTH
from ipulse_service.agents import join_tokens
from ipulse_service.db import people, web_sessions, write_turns
from ipulse_service.db import tokens as issued
from ipulse_service.db.access import ALL_SCOPES, NOBODY, TRUSTED, Access, ProjectRole
from ipulse_service.db.access import Scope as TokenScope
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import DEFAULT_PROJECT, OWNER
from ipulse_service.db.tokens import IssuedToken
from ipulse_service.http import cookies, problems, web
from ipulse_service.http.caller import Caller, Role
from ipulse_service.http.server.lanes import is_of_agents
from ipulse_service.http.server.request_rate import RequestRate
from ipulse_service.http.web import lost
from ipulse_service.settings import Settings

# The provider's page sends the browser to the last one.
SIGN_IN_PATHS = ("/v1/auth", "/v1/auth/login", "/v1/auth/callback")

# Paths that need no token: the health checks, the files of the web page, which contain no data, and
# what a program does that signs in.
OPEN_PATHS = frozenset(
    {"/healthz", "/readyz", *SIGN_IN_PATHS, "/v1/auth/device", "/v1/auth/device/token", *web.FILES}
)

# Paths that take the expired token of an agent's own: one that was away renews it, or leaves.
RETURN_PATHS = frozenset({"/v1/worker/token", "/v1/worker/leave"})

_AGENT_PATHS = "/v1/worker/"

# The roles of people and service accounts. The requests of agents are not limited.
_LIMITED = frozenset({"owner", "user", "reader"})

PROJECT_HEADER = "ipulse-project"  # names the project of what the request adds
USE_NOTED_MS = 60_000  # the last use of a token is stored so often

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])


class Tokens:
    """The digest of the owner's token, which is not stored, and the key of local agents."""

    def __init__(self, user: str, agent_key: bytes, owner_submits_code: bool = False) -> None:
        scopes = ALL_SCOPES if owner_submits_code else ALL_SCOPES - {TokenScope.CODE}
        access = Access(OWNER, {DEFAULT_PROJECT: ProjectRole.OWNER}, scopes, is_admin=True)
        self.owner = Caller(OWNER, "owner", access)
        self._digest = _digest(user)
        self._agent_key = agent_key

    @classmethod
    def read(cls, settings: Settings) -> Tokens:
        """Reads the token files. Raises Unavailable, which names the missing file."""
        hint = (
            f"`ipulse up` writes one; or write {MIN_TOKEN_LENGTH} or more random characters to the "
            "file"
        )
        return cls(
            read_token(settings.token_file, hint),
            key_in(settings.agent_key_file),
            settings.owner_submits_code,
        )

    def caller(self, authorization: str) -> Caller:
        """Returns the owner of a token, in constant time. Raises NotAuthenticated."""
        scheme, _, token = authorization.partition(" ")
        is_owner = hmac.compare_digest(_digest(token.strip()), self._digest)
        if not is_owner or scheme.lower() != "bearer":
            raise NotAuthenticated()
        return self.owner

    def local_agent(self, token: str) -> Caller:
        """Returns the local agent that a token belongs to. Raises NotAuthenticated."""
        name = agent_tokens.verified(self._agent_key, token)
        if name is None:
            raise NotAuthenticated()
        return _agent(name, is_local=True)

    def mark(self, caller: Caller) -> str:
        """Returns what changes with the token in the caller's file; "" for an issued token."""
        if caller.token_id is not None:
            return ""
        return hashlib.sha256(b"session:" + self._digest).hexdigest()


class AuthenticationMiddleware:
    """Refuses requests without a valid token, for any path: also those that no route has."""

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        database: Database,
        allowed_hosts: tuple[str, ...],
        max_requests: int,
        rate: RequestRate,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._database = database
        self._allowed_hosts = frozenset(allowed_hosts)
        self._max_requests = max_requests
        self._rate = rate  # of people and service accounts
        self._in_progress: Counter[str] = Counter()  # requests by the name of their caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on if its token is valid."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # WebSockets are not served, and no token was checked
        write_turns.is_user.set(not is_of_agents(scope["path"]))
        name = ""
        try:
            headers = Headers(scope=scope)
            is_lost = lost.is_lost(scope, headers)
            self._check_host(headers, is_page=is_lost or _is_page(scope["path"]))
            if is_lost:
                await lost.respond(scope)(scope, receive, send)
                return
            if scope["path"] not in OPEN_PATHS and not web.is_view(scope["path"]):
                caller = await self._caller_or_hint(scope, headers)
                if asked := headers.get(PROJECT_HEADER):
                    caller = await self._look_up(scope, self._in_project, caller, asked)
                scope.setdefault("state", {})["caller"] = caller
                name = caller.name
                if self._in_progress[name] >= self._max_requests:
                    raise problems.TooManyRequests()
                if caller.role in _LIMITED:
                    with self._counted(name):  # also while it waits
                        await self._rate.admit(name)
        except IPUlseError as error:
            await problems.response(scope["path"], error)(scope, receive, send)
            return
        with self._counted(name):
            await self._app(scope, receive, send)

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        self._in_progress[name] += 1
        try:
            yield
        finally:
            self._in_progress[name] -= 1
            if not self._in_progress[name]:
                del self._in_progress[name]  # there may be many tokens

    async def _look_up(self, scope: Scope, read: Callable[..., Caller], *given: Any) -> Caller:
        """Reads the database in a thread, for users in one that agents do not need."""
        in_thread = run_in_threadpool if is_of_agents(scope["path"]) else asyncio.to_thread
        return await in_thread(read, *given)

    async def _caller_or_hint(self, scope: Scope, headers: Headers) -> Caller:
        """Returns the caller; says how to join to an agent with a former token of all agents."""
        try:
            return await self._caller(scope, headers)
        except NotAuthenticated as error:
            if type(error) is NotAuthenticated and scope["path"].startswith(_AGENT_PATHS):
                raise NotAuthenticated(
                    f"this is no token of an agent: {agent_tokens.JOIN}"
                ) from None
            raise

    async def _caller(self, scope: Scope, headers: Headers) -> Caller:
        authorization = headers.get("authorization", "")
        if not authorization and (text := cookies.read(scope, headers)):
            caller = await self._look_up(scope, self._with_session, "session", text)
            cookies.check_change(scope, headers)
            return caller
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() == "bearer" and text.startswith(issued.PREFIX):
            return await self._look_up(scope, self._issued_to, text.strip(), scope["path"])
        if scheme.lower() == "bearer" and text.startswith(agent_tokens.PREFIX):
            return self._tokens.local_agent(text.strip())
        if scheme.lower() == "bearer" and text.startswith(join_tokens.PREFIX):
            return await self._look_up(scope, self._joining, text.strip())
        if scheme.lower() == "bearer" and text.startswith(web_sessions.CODE_PREFIX):
            return await self._look_up(scope, self._with_session, "code", text.strip())
        return self._tokens.caller(authorization)

    def _with_session(self, kind: web_sessions.Kind, text: str) -> Caller:
        with self._database.read() as transaction:
            session = web_sessions.find(transaction, kind, text)
            signed_in = session.signed_in
            if session.token is None:
                caller = self._tokens.owner
            else:
                caller = _caller_of(transaction, session.token)
        caller = replace(
            caller,
            session_id=session.id,
            session_ends_at=session.expires_at,
            signed_in=signed_in,
        )
        if not hmac.compare_digest(self._tokens.mark(caller), signed_in.token_mark):
            raise NotAuthenticated("the token of this session has changed: sign in again")
        return caller if kind == "session" else replace(caller, role="code")

    def _issued_to(self, text: str, path: str) -> Caller:
        with self._database.read() as transaction:
            token = issued.find(transaction, text, may_have_expired=path in RETURN_PATHS)
            if token is None:
                raise NotAuthenticated()
            caller = _caller_of(transaction, token)
            is_noted = (token.last_used_at or 0) > transaction.now - USE_NOTED_MS
        if not is_noted:
            self._note_use(token.id)
        return caller

    def _note_use(self, token_id: str) -> None:
        with suppress(Unavailable), self._database.write() as transaction:
            issued.note_use(transaction, token_id)

    def _in_project(self, caller: Caller, asked: str) -> Caller:
        """Returns the caller of a request that names the project of what it adds."""
        access = caller.access
        if access.is_admin:  # of the token in a file, which knows no names
            with self._database.read() as transaction:
                known = people.access_of(transaction, access.name, access.scopes, access.only)
            access = known or NOBODY
        return replace(caller, access=replace(access, asked_project=asked[:64]))

    def _joining(self, text: str) -> Caller:
        with self._database.read() as transaction:
            token = join_tokens.find(transaction, text)
        name = f"join token {token.id}"
        return Caller(name, "join", replace(TRUSTED, name=name), token.id)

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


def _caller_of(transaction: Transaction, token: IssuedToken) -> Caller:
    """Returns the owner of an issued token. Raises NotAuthenticated for one who is disabled."""
    if token.agent is not None:
        return _agent(token.agent, token.id)
    if token.principal is None:
        raise NotAuthenticated()
    access = people.access_of(transaction, token.principal, token.scope_set, token.project)
    if access is None:
        raise NotAuthenticated(f"{token.principal} is disabled")
    role: Role = "user" if TokenScope.SUBMIT in access.scopes else "reader"
    if access.is_admin:
        role = "owner"
    return Caller(token.principal, role, access, token.id)


def _agent(name: str, token_id: str | None = None, is_local: bool = False) -> Caller:
    access = Access(name, is_trusted=True, agent=name, is_local=is_local)
    return Caller(f"agent {name}", "worker", access, token_id, name)


def _is_page(path: str) -> bool:
    return path in web.FILES or path in SIGN_IN_PATHS or web.is_view(path)


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
