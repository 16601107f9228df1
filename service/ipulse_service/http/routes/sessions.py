"""Routes of browsers' sessions: a code or a token is traded for a cookie that scripts cannot read.

The page sends the code, or the token that a person has pasted, once, as a bearer token.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ipulse_service.db import web_sessions
from ipulse_service.db.engine import rfc3339
from ipulse_service.db.web_sessions import SignedIn
from ipulse_service.http import cookies
from ipulse_service.http.auth import Tokens, open_to
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.sessions import SessionInfo, SignInCode

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
        signed_in = _signed_in(caller, state.tokens)
        if caller.role == "code":
            assert caller.session_id is not None  # noqa: S101 - every code has an id
            web_sessions.use_code(transaction, caller.session_id)
        session, text = web_sessions.issue(transaction, "session", signed_in)
    cookies.write(request.scope, response, text, web_sessions.SESSION_SECONDS)
    return SessionInfo(
        name=signed_in.name,
        role=signed_in.role,
        expires_at=rfc3339(session.expires_at),
        submit_code=caller.submit_code,
    )


@router.get("/session", summary="Show who is signed in", response_description="The caller.")
@open_to("owner", "user", "reader")
def get_session(caller: CurrentCaller) -> SessionInfo:
    """Returns the name and role of the caller."""
    return SessionInfo(
        name=caller.name,
        role=caller.role,
        expires_at=rfc3339(caller.session_ends_at),
        submit_code=caller.submit_code,
    )


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
@open_to("owner", "user", "reader")
def create_sign_in_code(state: State, caller: CurrentCaller) -> SignInCode:
    """Creates a code that signs one browser in, once, with the caller's role."""
    with state.database.write() as transaction:
        code, text = web_sessions.issue(transaction, "code", _signed_in(caller, state.tokens))
    return SignInCode(code=text, expires_at=rfc3339(code.expires_at) or "")


def _signed_in(caller: Caller, tokens: Tokens) -> SignedIn:
    if caller.signed_in is not None:
        return caller.signed_in
    return SignedIn(caller.name, caller.role, caller.token_id, tokens.mark(caller))
