"""The agent's settings: one frozen object, read from the environment at the start."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ipulse.broker_url import broker_problem
from ipulse.stack import tls
from ipulse.stack.agent_home import Membership
from ipulse_core.errors import InvalidInput, Problem, Unavailable
from ipulse_core.messages import DEVICE_KINDS, MIN_TOKEN_LENGTH
from ipulse_core.spec.neuron_packages import VARIABLE, signed_off

SERVICE_SCHEMES = ("http", "https")
EVERYWHERE = ("cpu", "emulator")  # kinds that need no special hardware


@dataclass(frozen=True)
class AgentSettings:
    """The settings of one agent; `from_environment` names the variable of each."""

    service_url: str
    worker_token: str = field(repr=False)
    broker_url: str = field(repr=False)  # may hold a password; empty: wake-ups come over HTTPS
    work_dir: Path
    ca: Path | None = None  # the authority of the service's certificate
    pinned: Path | None = None  # or the certificate itself, valid under any name
    runner_python: str = sys.executable
    runner_module: str = "ipulse_worker.runner"
    device_kinds: tuple[str, ...] = EVERYWHERE
    warm: bool = True
    grace_seconds: float = 10.0  # between SIGTERM and SIGKILL
    ready_seconds: float = 120.0  # without processor time, until the runner is ready
    least_free_bytes: int = 16 * 2**20  # of the work directory's disk, before a job is claimed
    quarantine_seconds: float = 300.0  # for the reset of a device's partition
    log_quota_bytes: int = 4 * 2**20  # of one attempt's log
    data_dir: Path | None = None  # the directory of the files that specs name
    dataset_cache_bytes: int = 20 * 2**30  # of uploaded data sets that are kept for later jobs
    log_lines_per_second: float = 1000.0  # of one attempt, after a burst of ten seconds' lines
    nice: int = 0  # added to the niceness of the agent and all its runners
    neuron_packages: tuple[str, ...] = ()  # that the runner may import, NAME@sha256:DIGEST
    membership_file: Path | None = None  # of an agent that has joined; holds its own token
    name: str = field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}")

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
    def from_environment(cls, environment: Mapping[str, str]) -> AgentSettings:
        """Read the settings from environment variables.

        Raises InvalidInput with every wrong variable, Unavailable for a missing token.
        """
        reader = _Reader(environment)
        joined = reader.file("IPULSE_MEMBERSHIP_FILE")
        values: dict[str, object] = {
            "work_dir": Path(reader.text("IPULSE_WORK_DIR")).expanduser().absolute(),
            "runner_python": reader.program("IPULSE_RUNNER_PYTHON", cls.runner_python),
            "runner_module": reader.text("IPULSE_RUNNER_MODULE", cls.runner_module),
            "device_kinds": reader.choices("IPULSE_DEVICE_KINDS", DEVICE_KINDS, EVERYWHERE),
            "warm": reader.flag("IPULSE_WARM", cls.warm),
            "grace_seconds": reader.number("IPULSE_GRACE_SECONDS", cls.grace_seconds),
            "ready_seconds": reader.number("IPULSE_READY_SECONDS", cls.ready_seconds),
            "least_free_bytes": int(reader.number("IPULSE_LEAST_FREE_BYTES", cls.least_free_bytes)),
            "quarantine_seconds": reader.number("IPULSE_REST_SECONDS", cls.quarantine_seconds),
            "data_dir": reader.directory("IPULSE_DATA"),
            "neuron_packages": reader.packages(VARIABLE),
            "nice": reader.whole("IPULSE_NICE", cls.nice, 19),
            "log_quota_bytes": int(reader.number("IPULSE_LOG_QUOTA_BYTES", cls.log_quota_bytes)),
            "dataset_cache_bytes": int(
                reader.number("IPULSE_DATASET_CACHE_BYTES", cls.dataset_cache_bytes)
            ),
            "log_lines_per_second": reader.number(
                "IPULSE_LOG_LINES_PER_SECOND", cls.log_lines_per_second
            ),
        }
        token_file = None
        if joined is None:
            values["service_url"] = reader.url("IPULSE_SERVICE_URL", SERVICE_SCHEMES).rstrip("/")
            values["broker_url"] = reader.broker("IPULSE_BROKER_URL")
            values["ca"] = reader.file("IPULSE_CA")
            values["pinned"] = reader.file("IPULSE_PINNED")
            token_file = reader.text("IPULSE_WORKER_TOKEN_FILE")
        if reader.problems:
            raise InvalidInput(reader.problems, "The agent's environment is not valid.")
        if joined is not None:
            values.update(_of_membership(joined), membership_file=joined)
        else:
            values["worker_token"] = _read_token(Path(token_file or ""))
        return cls(**values)  # type: ignore[arg-type]  # each reader above gives its field's type


class _Reader:
    """Reads variables and collects every problem instead of stopping at the first."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.problems: list[Problem] = []

    def text(self, name: str, default: str = "") -> str:
        value = self._environment.get(name) or default
        if not value:
            self._wrong(name, "is not set")
        return value

    def url(self, name: str, schemes: tuple[str, ...]) -> str:
        value = self.text(name)
        if value and value.partition("://")[0] not in schemes:
            # The message does not contain the value, which may contain a password.
            self._wrong(name, f"must begin with one of {', '.join(f'{s}://' for s in schemes)}")
        return value

    def broker(self, name: str) -> str:
        value = self.text(name)
        problem = broker_problem(value) if value else None
        if problem:
            self._wrong(name, problem)
        return value

    def program(self, name: str, default: str) -> str:
        value = self.text(name, default)
        path = shutil.which(value, path=self._environment.get("PATH", os.defpath))
        if path is None:
            self._wrong(name, f"must be a Python interpreter; {value} cannot be executed")
        return path or value

    def file(self, name: str) -> Path | None:
        value = self._environment.get(name)
        return Path(value) if value else None

    def directory(self, name: str) -> Path | None:
        """Read the absolute path of a directory: a runner has another working directory."""
        value = self._environment.get(name)
        if not value:
            return None
        path = Path(value)
        if not path.is_absolute() or not path.is_dir():
            self._wrong(name, f"must be the absolute path of a directory; got {value}")
        return path

    def number(self, name: str, default: float) -> float:
        value = self._environment.get(name)
        try:
            number = default if value is None else float(value)
        except ValueError:
            number = -1.0
        if not 0 < number < float("inf"):
            self._wrong(name, f"must be a number greater than 0; got {value!r}")
        return number

    def whole(self, name: str, default: int, greatest: int) -> int:
        value = self._environment.get(name, str(default))
        if not (value.isascii() and value.isdigit() and int(value) <= greatest):
            self._wrong(name, f"must be a whole number from 0 to {greatest}; got {value!r}")
            return default
        return int(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self._environment.get(name, "1" if default else "0")
        if value not in ("0", "1"):
            self._wrong(name, f"must be 0 or 1; got {value!r}")
        return value == "1"

    def choices(
        self, name: str, known: tuple[str, ...], default: tuple[str, ...]
    ) -> tuple[str, ...]:
        value = self._environment.get(name, ",".join(default))
        chosen = tuple(part.strip() for part in value.split(",") if part.strip())
        if not chosen or not set(chosen) <= set(known):
            self._wrong(name, f"must list some of {', '.join(known)}; got {value!r}")
        return chosen

    def packages(self, name: str) -> tuple[str, ...]:
        try:
            return signed_off(self._environment.get(name, ""))
        except ValueError as error:
            self._wrong(name, str(error))
            return ()

    def _wrong(self, name: str, detail: str) -> None:
        self.problems.append(Problem(name, "environment", detail))


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


def _read_token(path: Path) -> str:
    try:
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(
            f"no worker token in {path} ({error}): IPULSE_WORKER_TOKEN_FILE must name the "
            "worker-token file that `ipulse up` wrote in its home, or a copy of it"
        ) from error
    if len(token) < MIN_TOKEN_LENGTH:
        raise Unavailable(
            f"the worker token in {path} is shorter than {MIN_TOKEN_LENGTH} characters"
        )
    return token
