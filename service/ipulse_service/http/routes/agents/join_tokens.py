"""Routes that create, list and revoke join tokens, for the owner's token only."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request

from ipulse.stack import listening, tls
from ipulse_service.agents import join_tokens
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.agents.joining import (
    CreatedJoinToken,
    JoinTokenInfo,
    JoinTokenList,
    JoinTokenRequest,
)
from ipulse_service.settings import LOOPBACK, Settings

router = APIRouter(prefix="/v1/join-tokens", tags=["agents"], route_class=JSONRoute)


@router.post(
    "",
    status_code=201,
    summary="Create a join token",
    response_description="The token is valid from now on.",
    responses=problems.documented(413, 415, 422),
)
@open_to("owner")
def create_join_token(body: JoinTokenRequest, state: State, request: Request) -> CreatedJoinToken:
    """Creates a token with which agents of other machines join, and says how they connect."""
    with state.database.write() as transaction:
        token, text = join_tokens.issue(transaction, body.labels, body.uses, body.seconds)
    return CreatedJoinToken(
        token=text,
        about=JoinTokenInfo.from_row(token),
        urls=_urls(state.settings, request.scope["server"][1]),
        pin=_pin(state.settings),
    )


@router.get("", summary="List join tokens", response_description="The join tokens.")
@open_to("owner")
def list_join_tokens(state: State) -> JoinTokenList:
    """Returns the join tokens that can still be used, without their secrets."""
    with state.database.read() as transaction:
        issued = join_tokens.issued(transaction)
    return JoinTokenList(join_tokens=[JoinTokenInfo.from_row(token) for token in issued])


@router.delete(
    "/{token_id}",
    status_code=204,
    summary="Revoke a join token",
    response_description="The join token is revoked.",
    responses=problems.documented(404),
)
@open_to("owner")
def revoke_join_token(
    token_id: Annotated[str, Path(description="The join token's id.")], state: State
) -> None:
    """Revokes a join token at once. Agents that have joined with it stay."""
    with state.database.write() as transaction:
        join_tokens.revoke(transaction, token_id)


def _urls(settings: Settings, port: int) -> list[str]:
    """Returns the service's addresses with HTTPS, those for other machines first."""
    if settings.tls_key is None:
        return []
    names = [name.strip("[]") for name in settings.allowed_hosts]
    names.sort(key=lambda name: name in LOOPBACK)  # the order is otherwise the operator's
    return [listening.url_at(name, port, is_tls=True) for name in names]


def _pin(settings: Settings) -> str | None:
    path = settings.tls_certificate
    return None if path is None or not tls.is_self_signed(path) else tls.digest_of(path)
