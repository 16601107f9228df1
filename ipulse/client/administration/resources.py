"""Agents, devices, access tokens and join tokens as the service returns them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ipulse.times import time_of


@dataclass(frozen=True)
class Token:
    """An access token; `secret` is set only in the response that creates it."""

    id: str
    name: str
    role: str  # reader, user or worker
    created_at: datetime
    expires_at: datetime
    submit_code: bool = False  # it may submit programs and custom ops
    secret: str = field(default="", repr=False)
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any], secret: str = "") -> Token:
        """Read a token from a response."""
        return cls(
            id=value["id"],
            name=value["name"],
            role=value["role"],
            created_at=time_of(value["created_at"]),
            expires_at=time_of(value["expires_at"]),
            submit_code=value.get("submit_code", False),
            secret=secret,
            json=value,
        )


@dataclass(frozen=True)
class JoinToken:
    """A join token; secret, addresses and pin are set only in the response that creates it."""

    id: str
    secret: str = field(repr=False)
    labels: dict[str, str] = field(hash=False)
    uses_left: int
    expires_at: datetime
    urls: list[str] = field(hash=False)  # with HTTPS; those for other machines come first
    pin: str  # of a certificate that the service made itself; else empty
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> JoinToken:
        """Read a join token from a response."""
        about = value["about"]
        return cls(
            id=about["id"],
            secret=value.get("token", ""),
            labels=about["labels"],
            uses_left=about["uses_left"],
            expires_at=time_of(about["expires_at"]),
            urls=value.get("urls", []),
            pin=value.get("pin") or "",
            json=value,
        )


@dataclass(frozen=True)
class AgentStatus:
    """An agent, and the job that it holds."""

    name: str
    state: str  # idle, busy, faulty, quarantined, draining, drained or offline
    device_kinds: tuple[str, ...]
    labels: dict[str, str] = field(hash=False)
    version: str
    has_joined: bool  # with a token of its own
    last_seen: datetime
    job_id: str | None
    fault: str | None  # of its machine, for which it takes no job
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @property
    def state_reason(self) -> str:
        """Why it takes no job, where its state alone does not say so; else an empty text."""
        return str(self.json.get("state_reason", ""))

    @property
    def capabilities(self) -> dict[str, bool | int | str]:
        """What it has for jobs, by name; empty for an agent that does not say."""
        return dict(self.json.get("capabilities") or {})

    @property
    def missing(self) -> dict[str, str]:
        """What its machine lacks, with the reason and the remedy."""
        remarks = self.json.get("remarks") or {}
        has = self.capabilities
        return {name: why for name, why in remarks.items() if has.get(name) is False}

    @property
    def sandbox(self) -> str:
        """The sandbox for code of users: bubblewrap, off or missing; empty: not known."""
        return str((self.json.get("sandbox") or {}).get("state", ""))

    @property
    def has_unknown_data(self) -> bool:
        """True if it did not report its data sets; it may have any of them."""
        is_registered = bool(self.device_kinds)
        return is_registered and self.json.get("data_sets", ()) is None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> AgentStatus:
        """Read an agent from a response."""
        return cls(
            name=value["name"],
            state=value["state"],
            device_kinds=tuple(value["device_kinds"]),
            labels=value["labels"],
            version=value["version"],
            has_joined=value["joined_at"] is not None,
            last_seen=time_of(value["last_seen"]),
            job_id=value["holds"] and value["holds"]["job_id"],
            fault=_fault(value.get("fault")),
            json=value,
        )


def _fault(value: dict[str, str] | None) -> str | None:
    return f"{value['reason']}: {value['message']}" if value else None


@dataclass(frozen=True)
class DeviceStatus:
    """A kind of device of one agent, and the job that uses it."""

    agent: str
    kind: str
    state: str  # free, busy, agent_busy, quarantined, draining or offline
    labels: dict[str, str] = field(hash=False)
    job_id: str | None
    since: datetime | None  # the job uses it since then
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> DeviceStatus:
        """Read a device from a response."""
        holds = value["holds"]
        return cls(
            agent=value["agent"],
            kind=value["kind"],
            state=value["state"],
            labels=value["labels"],
            job_id=holds and holds["job_id"],
            since=holds and time_of(holds["since"]),
            json=value,
        )
