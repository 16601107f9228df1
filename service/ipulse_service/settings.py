"""What the service is told from outside: one frozen object, made at the edge and passed in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ipulse_core import messages
from ipulse_core.errors import Unavailable

MEBIBYTE = 2**20
MIN_TOKEN_LENGTH = 32  # characters: nobody types or guesses one of these

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Settings(BaseModel):
    """Every field is read from `IPULSE_` + its name in capitals; secrets only by file."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        hide_input_in_errors=True,  # the broker's URL may hold a password
    )

    home: Path = Path("~/.local/state/ipulse")
    host: str = "127.0.0.1"
    port: int = Field(default=8470, ge=0, le=65535)  # 0 takes a free one; server.json has it
    listen_fd: int | None = Field(default=None, ge=0)  # a socket that listens already, inherited
    # Answering beyond this machine is a decision, not an accident of a host name.
    allow_remote: bool = False
    tls_certificate: Path | None = None  # PEM, with the chain; TLS is spoken where both are given
    tls_key: Path | None = None
    # Names a client may use for this service; anything else is a DNS rebinding attempt.
    allowed_hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")

    database_url: str = Field(
        default_factory=lambda data: f"sqlite:///{quote(str(data['home'] / 'ipulse.db'))}"
    )
    broker_url: str = Field(
        default_factory=lambda data: (
            f"redis+socket://{quote(str(data['home'] / 'redis' / 'redis.sock'))}"
        )
    )
    artifacts_dir: Path = Field(default_factory=lambda data: data["home"] / "artifacts")
    # With a bucket, files are kept there; boto3's own variables hold the credentials.
    s3_bucket: str = ""
    s3_endpoint_url: str | None = None  # of a store that is not Amazon's
    s3_prefix: str = "ipulse/"
    token_file: Path = Field(default_factory=lambda data: data["home"] / "token")
    worker_token_file: Path = Field(default_factory=lambda data: data["home"] / "worker-token")

    lease_seconds: float = Field(default=15.0, gt=0)
    heartbeat_seconds: float = Field(default=5.0, gt=0)
    max_attempts: int = Field(default=5, ge=1)  # then a lost job is taken for the poison itself
    retry_seconds: float = Field(
        default=1.0, ge=0
    )  # before the second attempt; doubles three times
    rescan_seconds: float = Field(default=5.0, gt=0)  # how long a lost wake-up may go unnoticed
    poll_seconds: float = Field(default=0.5, gt=0)  # until one replica sees what another committed
    ping_seconds: float = Field(default=15.0, gt=0)  # a silent stream says it is alive
    shutdown_seconds: int = Field(default=5, ge=1)  # for requests under way when told to stop

    retention_days: float = Field(default=0.0, ge=0)  # 0 keeps jobs that have ended for ever
    housekeeping_seconds: float = Field(default=600.0, gt=0)  # between two clean-ups

    max_requests: int = Field(default=2000, ge=1)  # under way for one token; streams count
    max_body_bytes: int = Field(default=MEBIBYTE, gt=0)
    max_events_bytes: int = Field(default=8 * MEBIBYTE, gt=0)
    max_artifact_bytes: int = Field(default=4096 * MEBIBYTE, gt=0)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Raises ValidationError."""
        named = {f"IPULSE_{name.upper()}": name for name in cls.model_fields}
        told = {name: environment[key] for key, name in named.items() if key in environment}
        return cls.model_validate(told)

    @field_validator("home", mode="after")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @field_validator("broker_url", mode="after")
    @classmethod
    def _spoken(cls, value: str) -> str:
        if value.partition("://")[0] not in messages.BROKER_SCHEMES:
            known = ", ".join(f"{scheme}://" for scheme in messages.BROKER_SCHEMES)
            raise ValueError(f"broker_url must begin with one of {known}")
        return value

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip().lower() for name in value.split(",") if name.strip())
        return value

    @model_validator(mode="after")
    def _deliberate(self) -> Settings:
        if (self.tls_certificate is None) is not (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key go together")
        is_safe = self.allow_remote or self.tls_key is not None
        if self.host not in _LOOPBACK and not is_safe:
            raise ValueError(
                f"host {self.host} would answer other machines without encryption: set "
                "IPULSE_TLS_CERTIFICATE and IPULSE_TLS_KEY, or "
                "IPULSE_ALLOW_REMOTE=1 if something in front of it speaks TLS, and "
                "IPULSE_ALLOWED_HOSTS to the names that clients use"
            )
        if self.heartbeat_seconds >= self.lease_seconds:
            raise ValueError("heartbeat_seconds must be shorter than lease_seconds")
        return self


def read_token(path: Path) -> str:
    """The secret in a token file. Raises Unavailable, saying what to do."""
    try:
        token = path.read_text("ascii").strip()
    except OSError as error:
        raise Unavailable(
            f"no token in {path} ({error.strerror}): `ipulse up` writes one, or put "
            f"{MIN_TOKEN_LENGTH} or more random characters there"
        ) from error
    except UnicodeDecodeError as error:
        raise Unavailable(f"the token in {path} is not ASCII text") from error
    if len(token) < MIN_TOKEN_LENGTH:
        raise Unavailable(f"the token in {path} is shorter than {MIN_TOKEN_LENGTH} characters")
    return token
