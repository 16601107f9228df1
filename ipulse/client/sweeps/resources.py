"""Sweeps and trials as the service returns them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SweepTrial:
    """A trial of a sweep, with the figures over its replicas."""

    number: int  # from 1
    parameters: dict[str, Any] = field(hash=False)  # values by JSON pointer into the spec
    state: str  # running, succeeded, pruned, failed or cancelled
    message: str  # which replicas have no value, and why
    value: float | None  # the mean
    n: int  # replicas that have a value
    deviation: float | None
    interval: float | None  # half the width of the 95 % interval of the mean
    job_ids: tuple[str, ...]
    json: dict[str, Any] = field(repr=False, hash=False)

    @property
    def shown_state(self) -> str:
        """The state for people: queued while none of its jobs has begun, instead of running."""
        waits = all(job.get("state") in ("queued", "blocked") for job in self.json["jobs"])
        return "queued" if self.state == "running" and waits else self.state

    @property
    def has_deleted_jobs(self) -> bool:
        """True if a job of it was deleted; its value stays."""
        return any(job.get("deleted") for job in self.json["jobs"])

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SweepTrial:
        """Read a trial from a response."""
        return cls(
            number=value["number"],
            parameters=value["parameters"],
            state=value["state"],
            message=value["message"],
            value=value["value"],
            n=value["n"],
            deviation=value["deviation"],
            interval=value["interval"],
            job_ids=tuple(job["id"] for job in value["jobs"]),
            json=value,
        )


@dataclass(frozen=True)
class SweepStatus:
    """A sweep at the time of the response; its id is also the group of its jobs."""

    id: str
    name: str
    state: str  # running, paused, stopping or ended
    reason: str | None
    message: str
    method: str
    parameters: tuple[str, ...]  # JSON pointers of the settings that vary
    metric: str
    goal: str  # maximize or minimize
    trials: int  # in all
    parallel: int
    begun: int
    by_state: dict[str, int] = field(hash=False)  # trials by state
    best: dict[str, Any] | None = field(hash=False)  # number, parameters and value
    json: dict[str, Any] = field(repr=False, hash=False)

    @property
    def has_ended(self) -> bool:
        """True once all trials have ended and none will begin."""
        return self.state == "ended"

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SweepStatus:
        """Read a sweep from a response."""
        names = (
            *("id", "name", "state", "reason", "message", "method", "metric", "goal", "trials"),
            *("parallel", "begun", "by_state", "best"),
        )
        return cls(
            **{name: value[name] for name in names},
            parameters=tuple(value["parameters"]),
            json=value,
        )


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep would take; nothing is stored."""

    trials: int
    jobs: int  # one of each seed of each trial
    parallel: int  # jobs at the same time, as far as present agents can
    able_agents: int  # that can run the first trial
    job_seconds: float | None  # expected time of a job with an agent; None without a basis
    device_seconds: float | None  # of all jobs together
    expected_seconds: float | None  # from the first start to the last end, if nothing else runs
    json: dict[str, Any] = field(repr=False, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SweepPlan:
        """Read a plan from a response."""
        job, devices = value["expected_job"], value["expected_devices"]
        names = ("trials", "jobs", "parallel", "able_agents", "expected_seconds")
        return cls(
            **{name: value[name] for name in names},
            job_seconds=None if job is None else job["seconds"],
            device_seconds=None if devices is None else devices["seconds"],
            json=value,
        )
