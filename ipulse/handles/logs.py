"""Log lines of a job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from ipulse.client import JobEvent
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import Level

LEVELS: tuple[str, ...] = get_args(Level)  # from the least severe


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


def levels_from(level: str | None) -> tuple[str, ...]:
    """Return a level and those that are more severe. Raises InvalidInput for an unknown one."""
    if level is None:
        return LEVELS
    if level not in LEVELS:
        detail = f"must be one of {', '.join(LEVELS)}; got {level[:60]!r}"
        raise InvalidInput([Problem("/level", "not_a_choice", detail)], "there is no such level")
    return LEVELS[LEVELS.index(level) :]
