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
