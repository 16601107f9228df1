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
    user: str | None = None  # it has their rights; None: an agent's, or the service is older
    scopes: tuple[str, ...] = ()  # the part of these rights that it carries
    last_used_at: datetime | None = None  # to the minute
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
            user=value.get("user"),
            scopes=tuple(value.get("scopes", ())),
            last_used_at=time_of(used) if (used := value.get("last_used_at")) else None,
            secret=secret,
            json=value,
        )


@dataclass(frozen=True)
class Project:
    """A project, and the caller's role in it; `members` only of one that was asked for."""

    name: str
    description: str
    is_public: bool  # everybody may read it
    role: str  # viewer, member, developer, maintainer or owner
    members: dict[str, str] = field(default_factory=dict, hash=False)  # roles by name
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Project:
        """Read a project from a response."""
        return cls(
            name=value["name"],
            description=value["description"],
            is_public=value["is_public"],
            role=value["role"],
            members={each["name"]: each["role"] for each in value.get("members", ())},
            json=value,
        )


@dataclass(frozen=True)
class QuotaLimit:
    """A quota of a project, of a person in it, or of a person, and how much of it is used."""

    project: str | None  # None: all projects of the person
    user: str | None  # None: all members of the project together
    name: str  # such as devices
    limit: int
    used: int | None  # None for priority and share
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> QuotaLimit:
        """Read a quota from a response."""
        names = ("project", "user", "name", "limit", "used")
        return cls(**{name: value[name] for name in names}, json=value)


@dataclass(frozen=True)
class UsedTime:
    """Device time of attempts that have ended; None: of all."""

    project: str | None
    user: str | None
    device: str | None
    month: str | None  # such as 2026-01, in UTC
    device_hours: float
    failed_hours: float  # of these, of attempts that failed
    lost_hours: float  # of these, of attempts that the workers have lost
    attempts: int
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> UsedTime:
        """Read used device time from a response."""
        names = ("project", "user", "device", "month", "device_hours", "failed_hours")
        more = ("lost_hours", "attempts")
        return cls(**{name: value[name] for name in (*names, *more)}, json=value)


@dataclass(frozen=True)
class Pool:
    """A set of workers, and the projects that may use it."""

    name: str
    description: str
    labels: dict[str, str] = field(hash=False)  # a worker with all of them is in it
    agents: tuple[str, ...]  # names and patterns of workers that are in it
    projects: tuple[str, ...] | None  # that may use it; None: all
    preemption: str  # never, priority or share
    members: tuple[str, ...]  # the workers that are in it now
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Pool:
        """Read a pool from a response."""
        projects = value["projects"]
        return cls(
            name=value["name"],
            description=value["description"],
            labels=value["labels"],
            agents=tuple(value["agents"]),
            projects=None if projects is None else tuple(projects),
            preemption=value["preemption"],
            members=tuple(value["members"]),
            json=value,
        )


@dataclass(frozen=True)
class Reservation:
    """Workers of a pool that run only the jobs of one project for a while."""

    id: str
    pool: str
    project: str | None  # None: one that the caller may not read
    agents: int
    starts_at: datetime
    ends_at: datetime
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Reservation:
        """Read a reservation from a response."""
        names = ("id", "pool", "project", "agents")
        return cls(
            **{name: value[name] for name in names},
            starts_at=time_of(value["starts_at"]),
            ends_at=time_of(value["ends_at"]),
            json=value,
        )


@dataclass(frozen=True)
class User:
    """A person, or a service account of a project."""

    name: str
    kind: str  # user or service
    full_name: str
    is_admin: bool
    is_disabled: bool
    roles: dict[str, str] = field(hash=False)  # by project
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> User:
        """Read a person from a response."""
        return cls(
            name=value["name"],
            kind=value["kind"],
            full_name=value["full_name"],
            is_admin=value["is_admin"],
            is_disabled=value["is_disabled"],
            roles=dict(value["roles"]),
            json=value,
        )


@dataclass(frozen=True)
class AuditPage:
    """Entries of the audit log in order, as the service returns them."""

    entries: list[dict[str, Any]] = field(hash=False)
    next_after: int  # `after` of the next page
    end: bool  # no entry followed


@dataclass(frozen=True)
class BrowserSession:
    """A session of a browser that somebody has signed in."""

    id: str
    created_at: datetime
    expires_at: datetime
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> BrowserSession:
        """Read a session from a response."""
        times = (time_of(value["created_at"]), time_of(value["expires_at"]))
        return cls(value["id"], *times, json=value)


@dataclass(frozen=True)
class CallerRights:
    """The owner of a token, and what it may do with it."""

    name: str
    is_admin: bool
    roles: dict[str, str] = field(hash=False)  # by project
    scopes: tuple[str, ...]
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> CallerRights:
        """Read the caller from a response."""
        return cls(
            name=value["name"],
            is_admin=value["is_admin"],
            roles=dict(value["roles"]),
            scopes=tuple(value["scopes"]),
            json=value,
        )


@dataclass(frozen=True)
class Webhook:
    """A receiver of news; `secret` is set only in the response that creates it."""

    id: str
    name: str
    url: str
    format: str  # standard, slack, mattermost, matrix or mail
    types: tuple[str, ...]
    is_on: bool
    reason: str  # why it is off
    created_at: datetime
    secret: str = field(default="", repr=False)
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any], secret: str = "") -> Webhook:
        """Read a webhook from a response."""
        names = ("id", "name", "url", "format", "is_on", "reason")
        return cls(
            **{name: value[name] for name in names},
            types=tuple(value["types"]),
            created_at=time_of(value["created_at"]),
            secret=secret,
            json=value,
        )


@dataclass(frozen=True)
class Delivery:
    """A message to a webhook; `id` is its header `webhook-id`, the same at every try."""

    id: str
    type: str
    job_id: str | None
    state: str  # waiting, delivered or failed
    tries: int
    error: str  # of the latest try
    created_at: datetime
    json: dict[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Delivery:
        """Read a delivery from a response."""
        names = ("id", "type", "job_id", "state", "tries", "error")
        created_at = time_of(value["created_at"])
        return cls(**{name: value[name] for name in names}, created_at=created_at, json=value)


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
