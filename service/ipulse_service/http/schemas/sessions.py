"""Sessions of browsers as the API shows them."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ipulse_core.version import version
from ipulse_service.db.access import ActionName
from ipulse_service.http.schemas.base import Timestamp, example
from ipulse_service.http.schemas.people import ABOUT_ALLOWED


class SessionInfo(BaseModel):
    """The caller of a request, and when the session ends."""

    model_config = example(
        name="user",
        role="owner",
        expires_at="2026-02-14T12:00:00.000Z",
        submit_code=False,
        projects={"default": ["read", "submit", "change_own"]},
        version="0.3.0",
    )

    name: str = Field(description="The name of the token that the caller has.")
    role: str = Field(description="owner, user or reader.")
    expires_at: Timestamp | None = Field(description="Null for a request with a token.")
    submit_code: bool = Field(description="Whether it may submit Poplar programs and custom ops.")
    projects: dict[str, list[ActionName]] = Field(
        description="The projects that it may read. " + ABOUT_ALLOWED
    )
    version: str = Field(default_factory=version, description="The version of the service.")


class BrowserSession(BaseModel):
    """A session of a browser."""

    model_config = example(
        id="0123456789abcdef",
        created_at="2026-01-31T12:00:00.000Z",
        expires_at="2026-02-14T12:00:00.000Z",
        is_current=True,
    )

    id: str
    created_at: Timestamp | None
    expires_at: Timestamp | None
    is_current: bool = Field(description="Whether the request belongs to it.")


class SessionList(BaseModel):
    """The sessions of the caller in all browsers."""

    model_config = example(
        sessions=[
            {
                "id": "0123456789abcdef",
                "created_at": "2026-01-31T12:00:00.000Z",
                "expires_at": "2026-02-14T12:00:00.000Z",
                "is_current": True,
            }
        ]
    )

    sessions: list[BrowserSession]


class SignInMethods(BaseModel):
    """How people sign in to the page."""

    model_config = example(issuer="https://id.example.org")

    issuer: str | None = Field(description="The provider with which they do; null: with a token.")


class SignInCode(BaseModel):
    """A code that signs in one browser, once."""

    model_config = example(
        code="ipc_0123456789abcdef_the-secret-is-shown-only-once",
        expires_at="2026-01-31T12:10:00.000Z",
        page_url="http://ipulse-0123456789abcdef.localhost:8470",
    )

    code: str = Field(description="Open `/login#code=CODE` in a browser.")
    expires_at: Timestamp
    page_url: str | None = Field(
        description="Where the page keeps its cookie, on a loopback address: no program at another "
        "port gets it there. Null: at this address."
    )
