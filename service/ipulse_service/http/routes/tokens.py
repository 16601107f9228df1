"""Routes that create, list and revoke access tokens, for the owner's token only."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from ipulse_service.db import tokens
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.tokens import (
    CreatedToken,
    TokenChange,
    TokenInfo,
    TokenList,
    TokenRequest,
)

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], route_class=JSONRoute)


@router.post(
    "",
    status_code=201,
    summary="Create an access token",
    response_description="The token is valid from now on.",
    responses=problems.documented(413, 415, 422),
)
@open_to("owner")
def create_token(request: TokenRequest, state: State) -> CreatedToken:
    """Creates an access token for one role that expires after a time."""
    with state.database.write() as transaction:
        token, text = tokens.issue(
            transaction,
            request.name,
            request.role,
            request.seconds,
            submit_code=request.submit_code,
        )
    return CreatedToken(token=text, about=TokenInfo.from_row(token))


@router.get("", summary="List access tokens", response_description="The tokens.")
@open_to("owner")
def list_tokens(state: State) -> TokenList:
    """Returns the access tokens without their secrets."""
    with state.database.read() as transaction:
        issued = tokens.issued(transaction)
    return TokenList(tokens=[TokenInfo.from_row(token) for token in issued])


@router.patch(
    "/{token_id}",
    summary="Change an access token",
    response_description="The token.",
    responses=problems.documented(404, 413, 415, 422),
)
@open_to("owner")
def change_token(
    token_id: Annotated[str, Path(description="The token's id.")],
    request: TokenChange,
    state: State,
) -> TokenInfo:
    """Gives a user's token the right to submit code, or takes it, at once."""
    with state.database.write() as transaction:
        token = tokens.set_submit_code(transaction, token_id, request.submit_code)
    return TokenInfo.from_row(token)


@router.delete(
    "/{token_id}",
    status_code=204,
    summary="Revoke an access token",
    response_description="The token is revoked.",
    responses=problems.documented(404),
)
@open_to("owner")
def revoke_token(
    token_id: Annotated[str, Path(description="The token's id.")], state: State
) -> None:
    """Revokes an access token at once."""
    with state.database.write() as transaction:
        tokens.revoke(transaction, token_id)
