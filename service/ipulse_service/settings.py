"""The service's settings: one frozen object, read once and passed to what needs it."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import Field, field_validator, model_validator

from ipulse.broker_url import broker_problem
from ipulse.environment_settings import EnvironmentSettings
from ipulse.stack.home import DEFAULT_HOME
from ipulse.stack.listening import plain_host
from ipulse_core.limits import MAX_SPEC_BYTES
from ipulse_core.spec.neuron_packages import signed_off

MEBIBYTE = 2**20

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Settings(EnvironmentSettings):
    """The service's settings."""

    home: Path = Field(default=Path(DEFAULT_HOME), description="Directory of the service's state.")
    host: str = Field(default="127.0.0.1", description="Address to listen at.")
    port: int = Field(
        default=8470,
        ge=0,
        le=65535,
        description="Port to listen at; 0 selects a free one, which server.json names.",
    )
    listen_fd: int | None = Field(
        default=None, ge=0, description="File descriptor of an inherited, listening socket."
    )
    allow_remote: bool = Field(
        default=False, description="Listen at other than loopback addresses without TLS."
    )
    tls_certificate: Path | None = Field(
        default=None, description="PEM file with the certificate chain; needs `tls_key`."
    )
    tls_key: Path | None = Field(default=None, description="PEM file with the private key.")
    allowed_hosts: tuple[str, ...] = Field(
        default=("127.0.0.1", "localhost", "[::1]"),
        description="Names in the Host header that are answered, separated by commas.",
    )
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = Field(
        default=(),
        description="Addresses and networks of proxies whose X-Forwarded-Proto and "
        "X-Forwarded-Prefix count, separated by commas.",
    )

    database_url: str = Field(
        default_factory=lambda data: f"sqlite:///{quote(str(data['home'] / 'ipulse.db'))}",
        description="SQLAlchemy URL of a SQLite or PostgreSQL database.",
    )
    broker_url: str = Field(
        default_factory=lambda data: (
            f"redis+socket://{quote(str(data['home'] / 'redis' / 'redis.sock'))}"
        ),
        description="Celery URL of the Redis that carries wake-ups.",
    )
    artifacts_dir: Path = Field(
        default_factory=lambda data: data["home"] / "artifacts",
        description="Directory of the stored files, and of uploads to a bucket.",
    )
    s3_bucket: str = Field(
        default="", description="Bucket that stores files; credentials as boto3 reads them."
    )
    s3_endpoint_url: str | None = Field(
        default=None, description="URL of an S3-compatible store other than Amazon's."
    )
    s3_prefix: str = Field(default="ipulse/", description="Prefix of the names in the bucket.")
    token_file: Path = Field(
        default_factory=lambda data: data["home"] / "token",
        description="File with the owner's token.",
    )
    agent_key_file: Path = Field(
        default_factory=lambda data: data["home"] / "agent-key",
        description="File with the key from which the tokens of local agents follow; the first "
        "start makes it.",
    )

    oidc_issuer: str = Field(
        default="",
        pattern=r"^$|^https://[^\s?#]+$|^http://(127\.0\.0\.1|localhost)(:[0-9]+)?[^\s?#]*$",
        description="Address of the OpenID Connect provider with which people sign in.",
    )
    oidc_client_id: str = Field(default="", description="Name of this service at the provider.")
    oidc_client_secret_file: Path | None = Field(
        default=None, description="File with the secret that the provider gave to this service."
    )
    oidc_signup: bool = Field(
        default=False,
        description="Add whoever signs in and is unknown, as a person without a role.",
    )
    oidc_groups_claim: str = Field(
        default="groups", description="Claim of the provider with the groups of a person."
    )
    oidc_group_roles: tuple[str, ...] = Field(
        default=(),
        description="Roles that members of groups have in projects, as GROUP=PROJECT:ROLE, "
        "separated by commas.",
    )
    oidc_group_days: float = Field(
        default=30.0,
        gt=0,
        description="Time after the last sign-in in which a person keeps the roles of its groups.",
    )
    oidc_allowed_domains: tuple[str, ...] = Field(
        default=(),
        description="Domains of the verified e-mail addresses of who may sign in, separated by "
        "commas; empty: all.",
    )

    webhook_hosts: tuple[str, ...] = Field(
        default=(),
        description="Hosts that news may be sent to, separated by commas: `hooks.slack.com`, "
        "`*.example.org`, `example.org:8443`, or `*` for all; of mails, the part behind @.",
    )
    webhook_networks: tuple[IPv4Network | IPv6Network, ...] = Field(
        default=(),
        description="Networks of private addresses that news may be sent to, separated by commas, "
        "such as `10.1.0.0/16`.",
    )
    webhook_key_file: Path = Field(
        default_factory=lambda data: data["home"] / "webhook-key",
        description="File with the key from which the secrets of webhooks follow.",
    )
    smtp_url: str = Field(
        default="",
        pattern=r"^$|^(smtp|smtps|smtp\+starttls)://([^@/:]+@)?[^@/:]+(:[0-9]{1,5})?/?$",
        description="Mail server: smtp://HOST:PORT, smtp+starttls://USER@HOST or smtps://USER@HOST.",
    )
    smtp_password_file: Path | None = Field(
        default=None, description="File with the password of the user in `smtp_url`."
    )
    mail_from: str = Field(
        default="ipulse@localhost",
        pattern=r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+$",
        description="Address from which mails are sent.",
    )

    lease_seconds: float = Field(
        default=30.0, gt=0, description="Time after a heartbeat until an attempt's lease expires."
    )
    heartbeat_seconds: float = Field(
        default=5.0, gt=0, description="Time between two heartbeats of an agent."
    )
    max_attempts: int = Field(
        default=5, ge=1, description="Lost attempts in a row after which a job fails."
    )
    retry_seconds: float = Field(
        default=1.0,
        ge=0,
        description="Delay of the second attempt; it doubles for each of the next three.",
    )
    rescan_seconds: float = Field(
        default=5.0, gt=0, description="Time between two searches for unpublished wake-ups."
    )
    poll_seconds: float = Field(
        default=0.5, gt=0, description="Time between two searches for changes by other replicas."
    )
    ping_seconds: float = Field(
        default=15.0, gt=0, description="Time after which a silent event stream sends a ping."
    )
    fair_share_days: float = Field(
        default=7.0,
        ge=0,
        description="Half-life of used device time in the fair share; 0 switches it off.",
    )
    preempt_after_seconds: float = Field(
        default=600.0,
        ge=0,
        description="In pools with preemption: jobs that an agent has held for less go on.",
    )
    finish_seconds: float = Field(
        default=600.0,
        gt=0,
        description="Time in which a job that is asked to finish does so; then it is cancelled.",
    )
    shutdown_seconds: int = Field(
        default=5, ge=1, description="Time that requests in progress get when the service stops."
    )

    retention_days: float = Field(
        default=0.0, ge=0, description="Age at which finished jobs are deleted; 0 keeps them."
    )
    housekeeping_seconds: float = Field(
        default=600.0, gt=0, description="Time between two deletions of old jobs and unused files."
    )

    max_requests: int = Field(
        default=2000, ge=1, description="Requests in progress for one token, with streams."
    )
    requests_per_second: float = Field(
        default=50.0,
        gt=0,
        description="Requests that one person or service account may send in the long run.",
    )
    requests_burst: int = Field(
        default=500, ge=1, description="Requests that one of them may send at once before that."
    )
    max_submissions: int = Field(
        default=200,
        ge=1,
        description="Submissions in progress, of all tokens; others are refused for a moment.",
    )
    max_body_bytes: int = Field(
        default=MAX_SPEC_BYTES, gt=0, description="Size limit of a JSON body, such as a spec."
    )
    max_events_bytes: int = Field(
        default=8 * MEBIBYTE, gt=0, description="Size limit of a body with events."
    )
    max_artifact_bytes: int = Field(
        default=4096 * MEBIBYTE, gt=0, description="Size limit of a stored file."
    )
    max_dataset_bytes: int = Field(
        default=8192 * MEBIBYTE, gt=0, description="Size limit of a user's data set."
    )

    require_sandbox: bool = Field(
        default=False,
        description="Read documents of users in a sandbox only: without one they are refused.",
    )
    owner_submits_code: bool = Field(
        default=False,
        description="Whether the owner's token may submit programs and custom ops, which workers "
        "build and run. `ipulse up` sets it on a loopback address where there is a sandbox.",
    )
    neuron_packages: tuple[str, ...] = Field(
        default=(),
        description="Packages of neurons that jobs may use, as NAME@sha256:DIGEST, separated by "
        "commas; workers have a list of their own.",
    )

    @field_validator("home", mode="after")
    @classmethod
    def _make_absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @field_validator("broker_url", mode="after")
    @classmethod
    def _check_scheme(cls, value: str) -> str:
        problem = broker_problem(value)
        if problem:
            raise ValueError(f"broker_url {problem}")
        return value

    @field_validator("host", mode="after")
    @classmethod
    def _without_brackets(cls, value: str) -> str:
        return plain_host(value)

    @field_validator(
        "allowed_hosts",
        "trusted_proxies",
        "webhook_hosts",
        "webhook_networks",
        "oidc_allowed_domains",
        mode="before",
    )
    @classmethod
    def _split_names(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip().lower() for name in value.split(",") if name.strip())
        return value

    @field_validator("oidc_group_roles", mode="before")
    @classmethod
    def _split_roles(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(item.strip() for item in value.split(",") if item.strip())
        return value

    @field_validator("oidc_group_roles", mode="after")
    @classmethod
    def _check_roles(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for item in value:
            if not re.fullmatch(r".+=[^:=]+:(viewer|member|developer|maintainer|owner)", item):
                raise ValueError(
                    f"{item[:80]!r} is not GROUP=PROJECT:ROLE, where ROLE is viewer, member, "
                    "developer, maintainer or owner"
                )
        return value

    @field_validator("neuron_packages", mode="before")
    @classmethod
    def _split_packages(cls, value: Any) -> Any:
        return signed_off(value if isinstance(value, str) else ",".join(value))

    @model_validator(mode="after")
    def _check_together(self) -> Settings:
        if (self.tls_certificate is None) is not (self.tls_key is None):
            raise ValueError("set both tls_certificate and tls_key, or neither")
        is_safe = self.allow_remote or self.tls_key is not None
        if self.host not in LOOPBACK and not is_safe:
            raise ValueError(
                f"host {self.host} accepts connections of other machines without encryption: set "
                "IPULSE_TLS_CERTIFICATE and IPULSE_TLS_KEY, or IPULSE_ALLOW_REMOTE=1 behind a "
                "proxy with TLS; set IPULSE_ALLOWED_HOSTS to the names that clients use"
            )
        if bool(self.oidc_issuer) is not bool(self.oidc_client_id):
            raise ValueError("set both oidc_issuer and oidc_client_id, or neither")
        if self.heartbeat_seconds >= self.lease_seconds:
            raise ValueError("heartbeat_seconds must be shorter than lease_seconds")
        return self
