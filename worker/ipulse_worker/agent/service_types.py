"""The values that the agent exchanges with the service."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ipulse_core.capabilities import Capability
from ipulse_worker.agent.lease import AttemptLease


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint of an earlier attempt."""

    artifact_id: str
    sha256: str
    size: int  # bytes
    name: str

    @classmethod
    def from_json(cls, value: Any) -> StoredCheckpoint:
        """Read a checkpoint from a response."""
        return cls(
            artifact_id=str(value["artifact_id"]),
            sha256=str(value["sha256"]),
            size=int(value["size"]),
            name=str(value["name"]),
        )


@dataclass(frozen=True)
class StartFromFile:
    """The file of another job that an attempt without a checkpoint starts from."""

    mode: str  # continue or weights
    sha256: str
    name: str

    @classmethod
    def from_json(cls, value: Any) -> StartFromFile:
        """Read the file from a response."""
        return cls(str(value["mode"]), str(value["sha256"]), str(value["name"]))


@dataclass(frozen=True)
class OpFile:
    """The source package of a custom op that a job uses."""

    name: str
    sha256: str

    @classmethod
    def from_json(cls, value: Any) -> OpFile:
        """Read the file from a response."""
        return cls(str(value["name"]), str(value["sha256"]))


@dataclass(frozen=True)
class Inventory:
    """The resources of an agent; jobs that need more are refused or run elsewhere."""

    host: str = ""
    ipus: Mapping[str, int] = field(default_factory=dict)  # number by kind, where it is known
    data_sets: tuple[str, ...] | None = None  # KIND/NAME, sorted; None if there are too many
    cached: tuple[str, ...] = ()  # digests of uploaded data sets, some if there are very many
    neuron_packages: tuple[Mapping[str, Any], ...] = ()  # descriptions of those signed off here
    capabilities: Mapping[str, Capability] = field(default_factory=dict)  # by name, where known
    remarks: Mapping[str, str] = field(default_factory=dict)  # why some are missing, or limited


class AgentOrders(NamedTuple):
    """Orders of the service for this agent; the fields are those of the response."""

    draining: bool = False  # it may claim no jobs
    renew_token: bool = False

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> AgentOrders:
        """Read the orders from a response."""
        return cls(*(bool(value.get(name, False)) for name in cls._fields))


@dataclass(frozen=True)
class AgentHint:
    """The service's answer to an agent that waits for work."""

    job_id: str | None  # of a job that this agent could claim
    draining: bool
    tag: str  # of the state of the queue

    @classmethod
    def from_json(cls, value: dict[str, Any], tag: str) -> AgentHint:
        """Read the hint from a response."""
        job_id = value["job_id"]
        return cls(None if job_id is None else str(job_id), bool(value["draining"]), tag)


@dataclass(frozen=True)
class ClaimedJob:
    """A claimed job and the lease for its attempt."""

    job_id: str
    attempt: int  # number of the attempt, from 1
    spec: dict[str, Any]
    checkpoint: StoredCheckpoint | None
    lease: AttemptLease
    heartbeat_seconds: float
    start_from: StartFromFile | None = None
    ops: tuple[OpFile, ...] = ()

    @classmethod
    def from_json(cls, value: dict[str, Any], sent_at: float) -> ClaimedJob:
        """Read the claim from a response; `sent_at` is the monotonic time of its request."""
        stored, start = value["checkpoint"], value.get("start_from")
        return cls(
            job_id=str(value["job_id"]),
            attempt=int(value["attempt"]),
            spec=value["spec"],
            checkpoint=None if stored is None else StoredCheckpoint.from_json(stored),
            lease=AttemptLease(
                attempt_id=str(value["attempt_id"]),
                fence=str(value["fence"]),
                seconds=float(value["lease_seconds"]),
                sent_at=sent_at,
            ),
            heartbeat_seconds=float(value["heartbeat_seconds"]),
            start_from=None if start is None else StartFromFile.from_json(start),
            ops=tuple(map(OpFile.from_json, value.get("ops", ()))),
        )

    @property
    def device_kind(self) -> str:
        """The kind of device that the job needs."""
        return str(self.spec["device"]["kind"])


@dataclass(frozen=True)
class PiggybackedManifest:
    """A manifest that is small enough to be sent in the request that reports the outcome."""

    name: str
    media_type: str
    sha256: str
    content: bytes

    def to_json(self) -> dict[str, str]:
        """Return the manifest as the request contains it."""
        return {
            "name": self.name,
            "media_type": self.media_type,
            "sha256": self.sha256,
            "base64": b64encode(self.content).decode(),
        }


class HeartbeatOrders(NamedTuple):
    """The service's answer to a heartbeat."""

    cancel: bool  # the job is to stop
    finish: bool  # the training is to end now, with its results
    must_return: bool  # it is to return to the queue: this agent drains


@dataclass(frozen=True)
class CancelStatus:
    """The answer to a cancel poll, and whether the service delayed it."""

    cancel: bool
    finish: bool
    was_delayed: bool
