"""Join tokens, and the requests and responses of agents of other machines."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field

from ipulse.models import StrictModel, unit
from ipulse_core.limits import LABEL
from ipulse_service.agents.join_tokens import StoredJoinToken
from ipulse_service.agents.joining import JoinedAgent
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.agents.worker_requests import AgentName
from ipulse_service.http.schemas.base import JOB_ID, Timestamp, example

MAX_USES = 1000
LONGEST_SECONDS = 30 * 86_400
AGENT_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"

LabelText = Annotated[str, Field(pattern=LABEL)]
_ABOUT = {
    "id": "0123456789abcdef",
    "labels": {"site": "b"},
    "uses_left": 1,
    "created_at": "2026-01-31T12:00:00.000Z",
    "expires_at": "2026-01-31T13:00:00.000Z",
}
_PIN = "sha256:5f2a4c1e6b8d9f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607182"


class JoinTokenRequest(StrictModel):
    """A request for a join token."""

    model_config = example(labels={"site": "b"}, uses=1, seconds=3600)

    labels: dict[LabelText, LabelText] = Field(
        default={}, max_length=64, description="Labels of the agents that join with it."
    )
    uses: int = Field(default=1, ge=1, le=MAX_USES, description="How many agents may join with it.")
    seconds: int = Field(
        default=3600,
        ge=1,
        le=LONGEST_SECONDS,
        description="Lifetime.",
        json_schema_extra=unit("s"),
    )


class JoinTokenInfo(BaseModel):
    """A join token without its secret."""

    id: str
    labels: dict[str, str]
    uses_left: int = Field(description="How many more agents may join with it.")
    created_at: Timestamp | None
    expires_at: Timestamp | None

    @classmethod
    def from_row(cls, token: StoredJoinToken) -> Self:
        """Returns the model of a stored join token."""
        return cls(
            id=token.id,
            labels=dict(token.labels),
            uses_left=token.uses_left,
            created_at=rfc3339(token.created_at),
            expires_at=rfc3339(token.expires_at),
        )


class CreatedJoinToken(BaseModel):
    """A new join token with its secret, and where agents reach this service."""

    model_config = example(
        token="ipj_0123456789abcdef_the-secret-is-shown-only-once",  # noqa: S106 - an example
        about=_ABOUT,
        urls=["https://lab.example.org:8470"],
        pin=_PIN,
    )

    token: str = Field(description="For `ipulse agent join`. It is shown only in this response.")
    about: JoinTokenInfo
    urls: list[str] = Field(
        description="Addresses of this service with HTTPS; those for other machines come first. "
        "Empty if it has no certificate of its own, as behind a proxy."
    )
    pin: str | None = Field(
        description="SHA-256 of the service's certificate, if the service made it itself."
    )


class JoinTokenList(BaseModel):
    """The join tokens that can still be used."""

    model_config = example(join_tokens=[_ABOUT])

    join_tokens: list[JoinTokenInfo]


class JoinRequest(StrictModel):
    """A machine's request to join with an agent."""

    model_config = example(
        name="worker-1", instance="a-secret-of-the-machine-0123456789abcdef", replace=False
    )

    name: str = Field(pattern=AGENT_NAME, description="The agent's name, unique in this service.")
    instance: str = Field(
        min_length=32,
        max_length=128,
        pattern=r"^[\x21-\x7e]*$",
        description="A random secret of the machine. With the same one a request may be repeated.",
    )
    replace: bool = Field(
        default=False,
        description="Take the name of another machine's agent that has stopped, without waiting "
        "until it was silent for 90 s; its token ends.",
    )


class AgentToken(BaseModel):
    """An agent's own token."""

    model_config = example(
        name="worker-1",
        labels={"site": "b"},
        token="ipulse_0123456789abcdef_the-secret-is-shown-only-once",  # noqa: S106 - an example
        seconds=86_400,
    )

    name: str = Field(description="The agent.")
    labels: dict[str, str] = Field(description="Its labels.")
    token: str = Field(description="For this agent's requests. It is shown only in this response.")
    seconds: int = Field(description="Lifetime.", json_schema_extra=unit("s"))

    @classmethod
    def of(cls, joined: JoinedAgent) -> Self:
        """Returns the model of an agent that has joined."""
        return cls(
            name=joined.name,
            labels=dict(joined.labels),
            token=joined.token,
            seconds=joined.seconds,
        )


class SignOffRequest(StrictModel):
    """An agent that stops."""

    model_config = example(agent="worker-1-4711")

    agent: AgentName


class OrdersResponse(BaseModel):
    """Orders of the service for an agent."""

    model_config = example(draining=False, renew_token=True)

    draining: bool = Field(description="True while the agent may claim no jobs.")
    renew_token: bool = Field(description="True if the agent should renew its token now.")


class WakeUpHint(BaseModel):
    """A job that the agent may claim, if there is one, and its orders."""

    model_config = example(job_id=JOB_ID, draining=False)

    job_id: str | None = Field(description="A job that the agent may claim, if there is one.")
    draining: bool = Field(description="True while the agent may claim no jobs.")
