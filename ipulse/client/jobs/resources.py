"""Jobs, their events and their files as the service returns them.

Each contains the complete response in `json`, including fields that this version of the client
does not know, and is hashable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ipulse.times import time_of
from ipulse_core.states import JobState


@dataclass(frozen=True)
class Job:
    """A job at the time of the response."""

    id: str
    name: str
    state: JobState
    reason: str | None  # a value of ipulse_core.states.Reason, if there is one
    message: str
    attempt: int  # number of the current or last attempt; 0 before the first
    # Fields of the last metric event; `evaluated` has the latest epoch that has ended.
    progress: dict[str, Any] | None = field(hash=False)
    # Final figures, such as test_accuracy.
    summary: dict[str, float] | None = field(hash=False)
    phase_seconds: dict[str, float] = field(hash=False)
    created_at: datetime
    etag: str = field(compare=False, repr=False)
    json: dict[str, Any] = field(repr=False, hash=False)

    @property
    def succeeded(self) -> bool:
        """True if the job has succeeded."""
        return self.state is JobState.SUCCEEDED

    @classmethod
    def from_json(cls, value: dict[str, Any], etag: str = "") -> Job:
        """Read a job from a response."""
        return cls(
            id=value["id"],
            name=value["name"],
            state=JobState(value["state"]),
            reason=value["reason"],
            message=value["message"],
            attempt=value["attempt"],
            progress=value["progress"],
            summary=value["summary"],
            phase_seconds=value["phase_seconds"],
            created_at=time_of(value["created_at"]),
            etag=etag,
            json=value,
        )


@dataclass(frozen=True)
class JobEvent:
    """An event of a job; `fields` are those of its kind (see ipulse_core.events)."""

    seq: int  # from 1, without gaps
    time: datetime
    attempt: int | None
    kind: str  # state, phase, progress, metric, log, checkpoint
    fields: dict[str, Any] = field(hash=False)
    json: dict[str, Any] = field(repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> JobEvent:
        """Read an event from a response."""
        known = ("seq", "time", "attempt", "kind")
        return cls(
            seq=value["seq"],
            time=time_of(value["time"]),
            attempt=value["attempt"],
            kind=value["kind"],
            fields={key: item for key, item in value.items() if key not in known},
            json=value,
        )


_OF_JOB = ("cursor", "job_id", "name", "project", "owner")


@dataclass(frozen=True)
class JobChange:
    """A change of the state of any job; `cursor` is its place in the sequence of all of them."""

    cursor: str
    job_id: str
    name: str | None
    project: str
    owner: str
    event: JobEvent

    @property
    def of_job(self) -> dict[str, Any]:
        """What it says about the job, as JSON."""
        return {name: getattr(self, name) for name in _OF_JOB}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> JobChange:
        """Read a change from a response."""
        event = {key: item for key, item in value.items() if key not in _OF_JOB}
        return cls(**{key: value[key] for key in _OF_JOB}, event=JobEvent.from_json(event))


@dataclass(frozen=True)
class ChangePage:
    """Some changes of all jobs in order, and the cursor of the next page."""

    changes: list[JobChange]
    next_after: str


@dataclass(frozen=True)
class Artifact:
    """A result file of a job; `sha256` is the digest of its content in hexadecimal digits."""

    id: str
    name: str
    role: str
    media_type: str
    size: int  # bytes
    sha256: str
    json: dict[str, Any] = field(repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Artifact:
        """Read an artifact from a response."""
        return cls(
            id=value["id"],
            name=value["name"],
            role=value["role"],
            media_type=value["media_type"],
            size=value["size"],
            sha256=value["sha256"],
            json=value,
        )


@dataclass(frozen=True)
class ValidSpec:
    """A valid spec with every default filled in."""

    spec: dict[str, Any] = field(hash=False)
    sha256: str


@dataclass(frozen=True)
class SubmissionPlan:
    """When and where a job would run; nothing is stored."""

    able_agents: int  # agents that could run it
    agents: int  # agents that are present
    position: int | None  # in the queue of its device
    estimated_start: datetime | None
    usual_seconds: float | None  # of jobs on this kind of device, where that is known
    waiting_reason: str
    spec: dict[str, Any] = field(repr=False, hash=False)  # with every default filled in
    json: dict[str, Any] = field(repr=False, hash=False)
    step_cycles: float | None = None  # that the emulator is expected to count in a training step

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SubmissionPlan:
        """Read a plan from a response."""
        waiting = value["waiting_on"]
        start = waiting["estimated_start"]
        return cls(
            able_agents=value["able_agents"],
            agents=value["agents"],
            position=waiting["position"],
            estimated_start=None if start is None else time_of(start),
            usual_seconds=value["usual_seconds"],
            waiting_reason=waiting["reason"],
            spec=value["spec"],
            json=value,
            step_cycles=(value.get("cycles") or {}).get("cycles"),
        )


@dataclass(frozen=True)
class JobPage:
    """A page of jobs; an empty token means that it is the last page."""

    jobs: list[Job]
    next_page_token: str
    total: int | None = None  # on all pages, if it was asked for
    unknown_columns: tuple[str, ...] = ()  # those asked for that no job has


@dataclass(frozen=True)
class EventPage:
    """A page of events in order; `end` means that no more will follow."""

    events: list[JobEvent]
    next_after: int
    end: bool
