"""Hand out and revoke tokens; only the owner's token, the one in the file, may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from ipulse_core.schema import described
from ipulse_service.db import tokens
from ipulse_service.db.engine import rfc3339
from ipulse_service.http import payloads
from ipulse_service.http.auth import open_to
from ipulse_service.http.payloads import JSONBody
from ipulse_service.http.responses import json_answer
from ipulse_service.http.state import get_state

LONGEST_SECONDS = 366 * 86_400

router = APIRouter(prefix="/v1/tokens", tags=["tokens"])


@dataclass(frozen=True)
class TokenRequest:
    """Asks for a token."""

    name: str = described("Whom or what it is for.", pattern=r"\S.{0,127}")
    role: Literal["reader", "user", "worker"] = described(
        "A reader looks, a user also changes, a worker takes jobs."
    )
    seconds: int = described("How long it is good for.", ge=1, le=LONGEST_SECONDS, unit="s")


class TokenBody(BaseModel):
    """What is known of a token."""

    id: str
    name: str
    role: str
    created_at: str | None
    expires_at: str | None

    @classmethod
    def of(cls, token: tokens.Token) -> TokenBody:
        return cls(
            id=token.id,
            name=token.name,
            role=token.role,
            created_at=rfc3339(token.created_at),
            expires_at=rfc3339(token.expires_at),
        )


class IssuedBody(BaseModel):
    """A new token."""

    token: str = Field(description="To be sent as Authorization: Bearer; told only this once.")
    about: TokenBody


class TokenListBody(BaseModel):
    """Every token that was not revoked."""

    tokens: list[TokenBody]


@router.post(
    "",
    status_code=201,
    responses={201: {"model": IssuedBody}},
    openapi_extra=payloads.described("TokenRequest"),
)
@open_to("owner")
def issue(body: JSONBody, request: Request) -> Response:
    """A new token, for one role and until a day."""
    state = get_state(request)
    wanted = payloads.parse(TokenRequest, body)
    with state.database.write() as transaction:
        token, text = tokens.issue(transaction, wanted.name, wanted.role, wanted.seconds)
    answer = IssuedBody(token=text, about=TokenBody.of(token))
    return json_answer(answer, 201)


@router.get("", responses={200: {"model": TokenListBody}})
@open_to("owner")
def list_tokens(request: Request) -> Response:
    """The tokens, without their secrets."""
    state = get_state(request)
    with state.database.read() as transaction:
        found = tokens.issued(transaction)
    body = TokenListBody(tokens=[TokenBody.of(token) for token in found])
    return json_answer(body)


@router.delete("/{token_id}", status_code=204)
@open_to("owner")
def revoke(token_id: str, request: Request) -> Response:
    """Makes a token worthless from the next request on."""
    state = get_state(request)
    with state.database.write() as transaction:
        tokens.revoke(transaction, token_id)
    return Response(status_code=204)
