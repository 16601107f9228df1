"""Device codes as the API creates, shows and trades them, with the names of RFC 8628."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ipulse.models import StrictModel, unit
from ipulse_core.limits import CONTROL, PRINTABLE
from ipulse_service.http.schemas.base import Timestamp, example

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
_CODE = "ipd_0123456789abcdef_the-secret-is-shown-only-once"

UserCode = Annotated[
    str, Field(max_length=32, pattern=PRINTABLE, description="As the program shows it.")
]


class DeviceCodeRequest(StrictModel):
    """A request of a program that wants to sign in."""

    model_config = example(client_id="laptop", scope="read submit")

    client_id: str = Field(
        pattern=rf"^[^\s{CONTROL}][^\n{CONTROL}]{{0,99}}$",
        description="Name of the program's machine; the person sees it.",
    )
    scope: str = Field(
        default="read submit manage",
        pattern=r"^(read|submit|code|manage|admin)( (read|submit|code|manage|admin))*$",
        description="Scopes of the token, separated by spaces.",
    )


class DeviceCode(BaseModel):
    """Codes for a program and for the person who confirms it."""

    model_config = example(
        device_code=_CODE,
        user_code="WDJB-MJHT",
        verification_uri="http://127.0.0.1:8470/device",
        verification_uri_complete="http://127.0.0.1:8470/device?code=WDJB-MJHT",
        expires_in=600,
        interval=2,
    )

    device_code: str = Field(description="For the program: it asks for its token with it.")
    user_code: str = Field(description="For the person.")
    verification_uri: str = Field(description="The person opens this address.")
    verification_uri_complete: str
    expires_in: int = Field(json_schema_extra=unit("s"))
    interval: int = Field(
        description="Time between two requests for the token.", json_schema_extra=unit("s")
    )


class DeviceTokenRequest(StrictModel):
    """A program's request for its token."""

    model_config = example(grant_type=GRANT_TYPE, device_code=_CODE)

    grant_type: Literal["urn:ietf:params:oauth:grant-type:device_code"] = Field(
        description="Always the same."
    )
    device_code: str = Field(max_length=128)


class DeviceToken(BaseModel):
    """The token of a program that has signed in."""

    model_config = example(
        access_token="ipulse_0123456789abcdef_the-secret-is-shown-only-once",  # noqa: S106 - an example
        token_type="Bearer",  # noqa: S106 - its kind
        expires_in=2_592_000,
        scope="read submit",
        user="alice",
    )

    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - its kind
    expires_in: int = Field(json_schema_extra=unit("s"))
    scope: str
    user: str | None = Field(description="The person who has confirmed it.")


class DeviceTokenError(BaseModel):
    """The reason why there is no token."""

    model_config = example(error="authorization_pending")

    error: str = Field(
        description="authorization_pending, slow_down, access_denied, expired_token, or "
        "invalid_grant."
    )


class WaitingProgram(BaseModel):
    """A program that waits for a person."""

    model_config = example(
        user_code="WDJB-MJHT",
        client="laptop",
        scopes=["read", "submit"],
        created_at="2026-01-31T12:00:00.000Z",
        expires_at="2026-01-31T12:10:00.000Z",
    )

    user_code: str
    client: str = Field(description="What the program says about its machine.")
    scopes: list[str] = Field(description="That its token would carry.")
    created_at: Timestamp | None
    expires_at: Timestamp | None


class DeviceAnswer(StrictModel):
    """What a person says about a program."""

    model_config = example(user_code="WDJB-MJHT", allow=True)

    user_code: UserCode
    allow: bool
