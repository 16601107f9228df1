"""Log lines of a job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ipulse.client.jobs.resources import JobEvent


@dataclass(frozen=True)
class LogLine:
    """A line of a job's log."""

    time: datetime
    level: str
    stream: str
    message: str

    @classmethod
    def of_event(cls, event: JobEvent) -> LogLine:
        """Return the line of a log event."""
        fields = event.fields
        level, stream = fields.get("level", "info"), fields.get("stream", "runner")
        return cls(event.time, level, stream, fields["message"])

    def __str__(self) -> str:
        return f"{self.time:%H:%M:%S} {self.level:<7} {self.message}"
