"""All that an export needs of a job, read from the service once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from ipulse.client import Artifact, Job, JobEvent, JobHandle
from ipulse.spec import parse_job_spec
from ipulse.spec.flat import Setting, flat_settings
from ipulse.times import time_of
from ipulse_core.events import metric_scope


@dataclass(frozen=True)
class MetricPoint:
    """Metrics of one step or epoch."""

    scope: str  # step or epoch
    epoch: int
    step: int
    time: datetime
    values: Mapping[str, float]


@dataclass(frozen=True)
class JobRecord:
    """A job with its metrics and files."""

    job: Job
    points: tuple[MetricPoint, ...]  # by step; an epoch after its last step
    artifacts: tuple[Artifact, ...]

    @property
    def folder_name(self) -> str:
        """A name for the job's folder: its own name as far as files allow, and its id."""
        safe = re.sub(r"[^A-Za-z0-9._-]+", "-", self.job.name).strip("-.")[:60]
        return f"{safe}-{self.job.id}" if safe else self.job.id

    @property
    def settings(self) -> dict[str, Setting]:
        """Every setting of the spec by its path, such as training.epochs."""
        return flat_settings(self.job.json["spec"])

    @property
    def chosen_settings(self) -> dict[str, Setting]:
        """The settings that differ from their defaults, and the kinds of data and device."""
        spec = parse_job_spec(self.job.json["spec"])
        chosen = flat_settings(spec.model_dump(mode="json", exclude_defaults=True))
        names = ("kind", "data.kind", "device.kind")
        kinds = {name: self.settings[name] for name in names if name in self.settings}
        return {**kinds, **chosen}

    @property
    def summary(self) -> dict[str, float]:
        """The final metrics."""
        return dict(self.job.summary or {})

    @property
    def started_at(self) -> datetime:
        """When the job was started, or else created."""
        return self._time("started_at") or self.job.created_at

    @property
    def finished_at(self) -> datetime | None:
        """When the job ended."""
        return self._time("finished_at")

    def _time(self, name: str) -> datetime | None:
        text = self.job.json.get(name)
        return None if text is None else time_of(text)


def record_of(job: JobHandle) -> JobRecord:
    """Read a job from the service. Raises NotFound."""
    points = points_of(job.events(kinds=["metric"]))
    return JobRecord(job.refresh().status, points, tuple(job.artifacts()))


def points_of(events: Iterator[JobEvent]) -> tuple[MetricPoint, ...]:
    """Return the points of metric events; a resumed attempt replaces those that it repeats."""
    points: dict[tuple[int, bool], MetricPoint] = {}
    for event in events:
        fields = event.fields
        scope = metric_scope(fields)
        key = (int(fields["step"]), scope == "epoch")
        points[key] = MetricPoint(scope, fields["epoch"], key[0], event.time, fields["values"])
    return tuple(points[key] for key in sorted(points))
