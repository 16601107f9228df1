"""Routes of browsers' sessions: a code or a token is traded for a cookie that scripts cannot read.

The page sends the code, or the token that a person has pasted, once, as a bearer token.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from ipulse_core.errors import NotFound
from ipulse_service.db import people, web_sessions
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.web_sessions import SignedIn
from ipulse_service.http import cookies, problems
from ipulse_service.http.auth import Tokens, open_to
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.page_host import page_url
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.sessions import (
    BrowserSession,
    SessionInfo,
    SessionList,
    SignInCode,
)

router = APIRouter(prefix="/v1", tags=["sessions"], route_class=JSONRoute)


@router.post(
    "/sessions",
    status_code=201,
    summary="Sign a browser in",
    response_description="The cookie is valid from now on.",
)
@open_to("owner", "user", "reader", "code")
def sign_in(
    state: State, caller: CurrentCaller, request: Request, response: Response
) -> SessionInfo:
    """Trades a one-time code or a token, sent as the bearer token, for a session's cookie."""
    with state.database.write() as transaction:
        signed_in = _use_proof(transaction, caller, state.tokens)
        session, text = web_sessions.issue(transaction, "session", signed_in)
        transaction.audit("session.start", session.id)
        info = _info(transaction, signed_in.name, signed_in.role, session.expires_at)
    cookies.write(request.scope, response, text, web_sessions.SESSION_SECONDS)
    return info


@router.get("/sessions", summary="List sessions", response_description="The caller's sessions.")
def list_sessions(state: State, caller: CurrentCaller) -> SessionList:
    """Returns the sessions of the caller in all browsers, the latest first."""
    with state.database.read() as transaction:
        found = web_sessions.of_principal(transaction, caller.access.name)
    return SessionList(
        sessions=[
            BrowserSession(
                id=each.id,
                created_at=rfc3339(each.created_at),
                expires_at=rfc3339(each.expires_at),
                is_current=each.id == caller.session_id,
            )
            for each in found
        ]
    )


@router.delete(
    "/sessions",
    status_code=204,
    summary="Sign out everywhere",
    response_description="All sessions of the caller have ended.",
)
@open_to("owner", "user", "reader")
def end_sessions(state: State, caller: CurrentCaller) -> None:
    """Ends all sessions of the caller at once, and its unused sign-in codes. Tokens stay valid."""
    with state.database.write() as transaction:
        web_sessions.end_own(transaction, caller.access.name)


@router.delete(
    "/sessions/{session_id}",
    status_code=204,
    summary="End a session",
    response_description="The session has ended.",
    responses=problems.documented(404),
)
@open_to("owner", "user", "reader")
def end_session(
    session_id: Annotated[str, Path(max_length=32, description="The session's id.")],
    state: State,
    caller: CurrentCaller,
) -> None:
    """Ends one of the caller's sessions at once."""
    with state.database.write() as transaction:
        if not web_sessions.end_own(transaction, caller.access.name, session_id):
            raise NotFound("there is no such session")


@router.get("/session", summary="Show who is signed in", response_description="The caller.")
@open_to("owner", "user", "reader")
def get_session(state: State, caller: CurrentCaller) -> SessionInfo:
    """Returns the name and role of the caller, and what it may do in which project."""
    with state.database.read() as transaction:
        return _info(transaction, caller.name, caller.role, caller.session_ends_at)


@router.delete(
    "/session",
    status_code=204,
    summary="Sign out",
    response_description="The session has ended.",
)
@open_to("owner", "user", "reader")
def sign_out(state: State, caller: CurrentCaller, request: Request, response: Response) -> None:
    """Ends the session of the request's cookie at once, and removes the cookie."""
    if caller.session_id is not None:
        with state.database.write() as transaction:
            web_sessions.end(transaction, caller.session_id)
    cookies.write(request.scope, response, "", 0)


@router.post(
    "/sign-in-codes",
    status_code=201,
    summary="Create a one-time code",
    response_description="The code is valid for ten minutes.",
)
@open_to("owner", "user", "reader", "code")
def create_sign_in_code(state: State, caller: CurrentCaller, request: Request) -> SignInCode:
    """Creates a code that signs one browser in, once, with the caller's role.

    A code that is sent as the bearer token is used up by it.
    """
    with state.database.write() as transaction:
        signed_in = _use_proof(transaction, caller, state.tokens)
        code, text = web_sessions.issue(transaction, "code", signed_in)
    return SignInCode(
        code=text,
        expires_at=rfc3339(code.expires_at) or "",
        page_url=page_url(state.page_host, request.headers.get("host", "")),
    )


def _info(transaction: Transaction, name: str, role: str, expires_at: int | None) -> SessionInfo:
    """Returns the model of the caller of a transaction."""
    access = transaction.access
    visible = people.visible_projects(transaction)
    return SessionInfo(
        name=name,
        role=role,
        expires_at=rfc3339(expires_at),
        submit_code=access.submits_code,
        projects={project.name: access.allowed(project.name) for project in visible},
    )


def _use_proof(transaction: Transaction, caller: Caller, tokens: Tokens) -> SignedIn:
    """Returns who is signed in by a request, and uses its code up if it was sent with one."""
    if caller.role == "code":
        assert caller.session_id is not None  # noqa: S101 - every code has an id
        web_sessions.use_code(transaction, caller.session_id)
    if caller.signed_in is not None:
        return caller.signed_in
    return SignedIn(caller.name, caller.role, caller.token_id, tokens.mark(caller))
