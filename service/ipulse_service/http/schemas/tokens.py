"""Access tokens as the API creates and lists them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import BaseModel, Field

from ipulse.models import StrictModel, unit
from ipulse_core.errors import Problem
from ipulse_core.limits import CONTROL, PRINTABLE
from ipulse_service.db.engine import rfc3339
from ipulse_service.db.tokens import IssuedToken
from ipulse_service.http.schemas.base import Timestamp, example

LONGEST_SECONDS = 366 * 86_400

_TOKEN = {
    "id": "0123456789abcdef",
    "name": "dashboard",
    "role": "reader",
    "submit_code": False,
    "user": "dashboard",
    "scopes": ["read"],
    "project": "default",
    "last_used_at": "2026-01-31T13:00:00.000Z",
    "created_by": "owner",
    "created_at": "2026-01-31T12:00:00.000Z",
    "expires_at": "2026-02-01T12:00:00.000Z",
}


class TokenRequest(StrictModel):
    """A request for an access token."""

    model_config = example(
        name="dashboard",
        role="reader",
        seconds=86_400,
        submit_code=False,
        scopes=["read"],
        project="default",
    )

    name: str = Field(
        pattern=rf"^[^\s{CONTROL}][^\n{CONTROL}]{{0,127}}$",
        description="The token's owner or purpose.",
    )
    role: Literal["reader", "user", "worker"] | None = Field(
        default=None,
        description="Makes a service account of the project: a reader reads, a user also submits "
        "jobs and changes its own. Null: a token of `user`. No `worker` is made any more: agents "
        "join.",
    )
    user: str | None = Field(
        default=None,
        max_length=64,
        pattern=PRINTABLE,
        description="The person or service account that it acts for; by default the caller. "
        "Administrators name others, maintainers the service accounts of their projects.",
    )
    scopes: list[Literal["read", "submit", "code", "manage", "admin"]] | None = Field(
        default=None,
        description="The part of these rights that it carries; by default all but `code`.",
    )
    project: str | None = Field(
        default=None,
        max_length=64,
        pattern=PRINTABLE,
        description="The only project in which it is valid.",
    )
    seconds: int = Field(
        ge=1, le=LONGEST_SECONDS, description="Lifetime.", json_schema_extra=unit("s")
    )
    submit_code: bool = Field(
        default=False,
        description="Whether it also carries the scope `code`: it may submit Poplar programs and "
        "custom ops, which workers build and run in a sandbox. A service account gets the role "
        "developer then; a person has to have it. Only for the role user.",
    )

    def problems(self) -> Iterator[Problem]:
        """Yields what does not go together."""
        if self.role is not None and self.user is not None:
            yield Problem("/user", "inconsistent", "give either role or user")
        if self.submit_code and self.role not in (None, "user"):
            detail = f"only the role user submits; got {self.role}"
            yield Problem("/submit_code", "inconsistent", detail)


class TokenChange(StrictModel):
    """A change of an access token."""

    model_config = example(submit_code=True)

    submit_code: bool = Field(
        description="Whether it may submit Poplar programs and custom ops; only for the role user."
    )


class TokenInfo(BaseModel):
    """An access token without its secret."""

    model_config = example(**_TOKEN)

    id: str
    name: str
    role: str
    submit_code: bool = Field(description="Whether it may submit Poplar programs and custom ops.")
    user: str | None = Field(
        description="The person or service account that it acts for; null for an agent's."
    )
    scopes: list[str] = Field(description="The part of these rights that it carries.")
    project: str | None = Field(description="The only project in which it is valid; null: all.")
    last_used_at: Timestamp | None = Field(description="To the minute; null: never.")
    created_by: str
    created_at: Timestamp | None
    expires_at: Timestamp | None

    @classmethod
    def from_row(cls, token: IssuedToken) -> Self:
        """Returns the model of a stored token."""
        return cls(
            id=token.id,
            name=token.name,
            role=token.role,
            submit_code=token.submit_code,
            user=token.principal,
            scopes=token.scopes.split(),
            project=token.project,
            last_used_at=rfc3339(token.last_used_at),
            created_by=token.created_by,
            created_at=rfc3339(token.created_at),
            expires_at=rfc3339(token.expires_at),
        )


class CreatedToken(BaseModel):
    """A new access token with its secret."""

    model_config = example(
        token="ipulse_0123456789abcdef_the-secret-is-shown-only-once",  # noqa: S106 - an example
        about=_TOKEN,
    )

    token: str = Field(
        description="Send it as `Authorization: Bearer TOKEN`. It is shown only in this response."
    )
    about: TokenInfo


class TokenList(BaseModel):
    """All access tokens that were not revoked."""

    model_config = example(tokens=[_TOKEN])

    tokens: list[TokenInfo]
