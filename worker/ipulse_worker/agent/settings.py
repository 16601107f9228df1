"""The agent's settings: one frozen object, read from the environment at the start."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from ipulse import agent_tokens
from ipulse.broker_url import broker_problem
from ipulse.environment_settings import EnvironmentSettings, read_token
from ipulse.key_file import key_in
from ipulse.stack import tls
from ipulse.stack.agent_home import Membership
from ipulse_core.messages import DEVICE_KINDS
from ipulse_core.registry.kinds import DEVICES
from ipulse_core.spec.neuron_packages import VARIABLE, signed_off

SERVICE_SCHEMES = ("http", "https")
EVERYWHERE = tuple(name for name, kind in DEVICES.items() if kind.is_everywhere)
_ADDRESSES = ("service_url", "broker_url")
_SECRETS = ("worker_token_file", "agent_key_file")
_TRUST = ("ca", "pinned")


def _number(value: Any) -> Any:
    """Reads a number of a variable. Raises ValueError."""
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise ValueError(f"must be a number greater than 0; got {value!r}")
    return number


def _flag(value: Any) -> Any:
    if value not in ("0", "1", True, False):
        raise ValueError(f"must be 0 or 1; got {value!r}")
    return value in ("1", True)


Amount = Annotated[float, BeforeValidator(_number)]
Bytes = Annotated[int, BeforeValidator(lambda value: int(_number(value)))]
Flag = Annotated[bool, BeforeValidator(_flag)]


class AgentSettings(EnvironmentSettings):
    """The settings of one agent."""

    VARIABLES: ClassVar[Mapping[str, str | None]] = {
        "data_dir": "IPULSE_DATA",
        "name": None,
        "neuron_packages": VARIABLE,
        "quarantine_seconds": "IPULSE_REST_SECONDS",
        "worker_token": None,
    }
    EMPTY_IS_UNSET = frozenset(
        {
            *_ADDRESSES,
            *_SECRETS,
            *_TRUST,
            "data_dir",
            "membership_file",
            "runner_module",
            "runner_python",
            "work_dir",
        }
    )

    service_url: str = ""
    worker_token: str = Field(default="", repr=False)
    worker_token_file: Path | None = None
    agent_key_file: Path | None = None  # from which it makes a token for its name
    broker_url: str = Field(default="", repr=False)  # empty: wake-ups come over HTTPS
    work_dir: Path
    ca: Path | None = None  # the authority of the service's certificate
    pinned: Path | None = None  # or the certificate itself, valid under any name
    runner_python: str = sys.executable
    runner_module: str = "ipulse_worker.runner"
    device_kinds: tuple[str, ...] = EVERYWHERE
    warm: Flag = True
    grace_seconds: Amount = 10.0  # between SIGTERM and SIGKILL
    ready_seconds: Amount = 120.0  # without processor time, until the runner is ready
    least_free_bytes: Bytes = 16 * 2**20  # of the work directory's disk, before a job is claimed
    quarantine_seconds: Amount = 300.0  # for the reset of a device's partition
    log_quota_bytes: Bytes = 4 * 2**20  # of one attempt's log
    data_dir: Path | None = None  # the directory of the files that specs name
    dataset_cache_bytes: Bytes = 20 * 2**30  # of uploaded data sets that are kept for later jobs
    log_lines_per_second: Amount = 1000.0  # of one attempt, after a burst of ten seconds' lines
    nice: int = 0  # added to the niceness of the agent and all its runners
    neuron_packages: tuple[str, ...] = ()  # that the runner may import, NAME@sha256:DIGEST
    membership_file: Path | None = None  # of an agent that has joined; holds its own token
    name: str = Field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}")

    @property
    def dataset_cache(self) -> Path:
        """The directory of uploaded data sets, which agents with one work directory share."""
        return self.work_dir / ".datasets"

    def trust(self) -> ssl.SSLContext | None:
        """Return how the agent verifies the service; None: by the machine's own authorities.

        Raises InvalidInput for a file without a certificate.
        """
        if self.pinned:
            return tls.pinned(self.pinned)
        return tls.authorities(self.ca) if self.ca else None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the settings from environment variables.

        Raises InvalidInput with every wrong variable; Unavailable for a missing token; NotFound or
        Unavailable for the membership of an agent that has joined.
        """
        if environment.get("IPULSE_MEMBERSHIP_FILE"):
            settings = cls.read(
                environment, ["work_dir"], ignored=[*_ADDRESSES, *_SECRETS, *_TRUST]
            )
            return settings.model_copy(update=_of_membership(settings.membership_file or Path()))
        has_key = bool(environment.get("IPULSE_AGENT_KEY_FILE"))
        secret = [] if has_key else ["worker_token_file"]
        settings = cls.read(environment, ["work_dir", *_ADDRESSES, *secret])
        if settings.worker_token_file is None and settings.agent_key_file is not None:
            token = agent_tokens.token_of(key_in(settings.agent_key_file), settings.name)
            return settings.model_copy(update={"worker_token": token})
        token = read_token(
            settings.worker_token_file or Path(),
            "IPULSE_AGENT_KEY_FILE must name the file agent-key in the home of `ipulse up`, or "
            "IPULSE_WORKER_TOKEN_FILE the file of this agent's token",
        )
        name = agent_tokens.named_in(token) or settings.name
        return settings.model_copy(update={"worker_token": token, "name": name})

    @field_validator("service_url")
    @classmethod
    def _check_scheme(cls, value: str) -> str:
        if value and value.partition("://")[0] not in SERVICE_SCHEMES:
            # The message does not contain the value, which may contain a password.
            schemes = ", ".join(f"{scheme}://" for scheme in SERVICE_SCHEMES)
            raise ValueError(f"must begin with one of {schemes}")
        return value.rstrip("/")

    @field_validator("broker_url")
    @classmethod
    def _check_broker(cls, value: str) -> str:
        problem = broker_problem(value) if value else None
        if problem:
            raise ValueError(problem)
        return value

    @field_validator("work_dir")
    @classmethod
    def _make_absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @field_validator("runner_python")
    @classmethod
    def _find_program(cls, value: str, info: ValidationInfo) -> str:
        environment: Mapping[str, str] = os.environ if info.context is None else info.context
        path = shutil.which(value, path=environment.get("PATH", os.defpath))
        if path is None:
            raise ValueError(f"must be a Python interpreter; {value} cannot be executed")
        return path

    @field_validator("data_dir")
    @classmethod
    def _check_directory(cls, value: Path | None) -> Path | None:
        """Check for an absolute path of a directory: a runner has another working directory."""
        if value is not None and not (value.is_absolute() and value.is_dir()):
            raise ValueError(f"must be the absolute path of a directory; got {value}")
        return value

    @field_validator("nice", mode="before")
    @classmethod
    def _check_niceness(cls, value: Any) -> Any:
        text = str(value)
        if not (text.isascii() and text.isdigit() and int(text) <= 19):
            raise ValueError(f"must be a whole number from 0 to 19; got {value!r}")
        return int(text)

    @field_validator("device_kinds", mode="before")
    @classmethod
    def _split_kinds(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        chosen = tuple(part.strip() for part in value.split(",") if part.strip())
        if not chosen or not set(chosen) <= set(DEVICE_KINDS):
            raise ValueError(f"must list some of {', '.join(DEVICE_KINDS)}; got {value!r}")
        return chosen

    @field_validator("neuron_packages", mode="before")
    @classmethod
    def _split_packages(cls, value: Any) -> Any:
        return signed_off(value) if isinstance(value, str) else value


def _of_membership(path: Path) -> dict[str, object]:
    """Return the settings of an agent that has joined. Raises NotFound or Unavailable."""
    membership = Membership.read(path)
    certificate = Path(membership.certificate) if membership.certificate else None
    return {
        "service_url": membership.url,
        "name": membership.name,
        "worker_token": membership.token,
        "broker_url": "",
        "pinned": certificate if membership.is_pinned else None,
        "ca": None if membership.is_pinned else certificate,
    }
