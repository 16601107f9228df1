"""Routes by which a program signs in: a person confirms its code in the page (RFC 8628)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse

from ipulse_core.errors import Unavailable
from ipulse_service.db import device_codes, tokens
from ipulse_service.db.access import Access, Scope
from ipulse_service.db.engine import rfc3339
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.device_codes import (
    DeviceAnswer,
    DeviceCode,
    DeviceCodeRequest,
    DeviceToken,
    DeviceTokenError,
    DeviceTokenRequest,
    WaitingProgram,
)
from ipulse_service.http.server.proxies import address_of

_REFUSED: dict[int | str, dict[str, Any]] = {
    400: {
        "model": DeviceTokenError,
        "description": "There is no token, or not yet.",
        "content": problems.documented(400)[400]["content"],
    }
}

router = APIRouter(prefix="/v1/auth/device", tags=["sessions"], route_class=JSONRoute)


@router.post(
    "",
    summary="Begin to sign in a program",
    response_description="Codes for the program and for the person.",
    responses=problems.documented(413, 415, 422),
)
def create_device_code(body: DeviceCodeRequest, state: State, request: Request) -> DeviceCode:
    """Creates a code that a person confirms in the page. It needs no token."""
    with state.database.write() as transaction:
        created = device_codes.create(
            transaction, body.client_id, set(map(Scope, body.scope.split()))
        )
    if created is None:
        raise Unavailable("too many programs wait for a person: try again later")
    waiting, code = created
    page = address_of(request, "/device")
    return DeviceCode(
        device_code=code,
        user_code=waiting.user_code,
        verification_uri=page,
        verification_uri_complete=f"{page}?code={waiting.user_code}",
        expires_in=device_codes.CODE_SECONDS,
        interval=device_codes.INTERVAL_SECONDS,
    )


@router.post(
    "/token",
    response_model=DeviceToken,
    summary="Ask for a program's token",
    response_description="The token of the person who has confirmed the code.",
    responses={**_REFUSED, **problems.documented(413, 415, 422)},
)
def trade_device_code(body: DeviceTokenRequest, state: State) -> DeviceToken | JSONResponse:
    """Returns a token once the code is confirmed. It needs no token; repeat it every `interval`."""
    refused = None
    with state.database.read() as transaction:
        person = device_codes.answered_by(transaction, body.device_code)
    # The audit log names the person.
    database = state.database.acting_for(Access(person)) if person else state.database
    with database.write() as transaction:
        try:
            token, text = device_codes.trade(transaction, body.device_code)
        except device_codes.TokenRefused as error:
            refused = str(error)
    if refused is not None:
        return JSONResponse(DeviceTokenError(error=refused).model_dump(), 400)
    return DeviceToken(
        access_token=text,
        expires_in=device_codes.TOKEN_SECONDS,
        scope=token.scopes,
        user=token.principal,
    )


@router.get(
    "/codes/{user_code}",
    summary="Get a program that waits",
    response_description="The program.",
    responses=problems.documented(404),
)
@open_to("owner", "user", "reader")
def get_waiting_program(
    user_code: Annotated[str, Path(max_length=32, description="As the program shows it.")],
    state: State,
    caller: CurrentCaller,
) -> WaitingProgram:
    """Returns which program shows a code, and what its token would carry."""
    with state.database.read() as transaction:
        waiting = device_codes.find(transaction, user_code)
    return WaitingProgram(
        user_code=waiting.user_code,
        client=waiting.client,
        scopes=tokens.written(waiting.scope_set & caller.access.scopes).split(),
        created_at=rfc3339(waiting.created_at),
        expires_at=rfc3339(waiting.expires_at),
    )


@router.post(
    "/answer",
    status_code=204,
    summary="Confirm or refuse a program",
    response_description="The program is told.",
    responses=problems.documented(404, 413, 415, 422),
)
@open_to("owner", "user", "reader")
def answer_device_code(body: DeviceAnswer, state: State, caller: CurrentCaller) -> None:
    """Lets a program sign in as the caller, or not."""
    with state.database.write() as transaction:
        device_codes.answer(transaction, body.user_code, body.allow, caller.access.only)
