"""The job of an archive, checked field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, field_validator
from pydantic_core import PydanticCustomError

from ipulse.models import MAX_INTEGER, Field, ListOf, StrictModel, adapter_of
from ipulse_core.errors import Problem
from ipulse_core.events import MetricEvent
from ipulse_core.ids import JOB_ID
from ipulse_core.limits import (
    CONTROL,
    GROUP,
    HIGHEST_PRIORITY,
    LOWEST_PRIORITY,
    MAX_NOTES,
    MAX_TAGS,
    TAG,
    TRIMMED,
)
from ipulse_core.manifest import SHA256
from ipulse_core.states import OUTCOMES, JobState, Reason

MAX_ATTEMPTS = 10_000
_MAX_MESSAGE = 32_768  # characters; the service adds sentences to those of a runner
_MAX_SECONDS = 10**10  # of a phase: 300 years
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_1970 = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PRINTABLE_LINES = rf"^[^{CONTROL}]*$"


def milliseconds_of(value: Any) -> int:
    """Return a time of an archive in milliseconds since 1970. Raises PydanticCustomError."""
    try:
        if not _TIME.fullmatch(value):
            raise ValueError
        # fromisoformat reads the final Z only from Python 3.11 on.
        passed = datetime.fromisoformat(value.replace("Z", "+00:00")) - _1970
    except (TypeError, ValueError):
        detail = "must be a time such as 2026-01-31T12:00:00.000Z"
        raise PydanticCustomError("datetime_parsing", "{detail}", {"detail": detail}) from None
    return (passed.days * 86_400 + passed.seconds) * 1000 + passed.microseconds // 1000


Time = Annotated[int, BeforeValidator(milliseconds_of)]  # milliseconds since 1970
Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Message = Annotated[str, Field(max_length=_MAX_MESSAGE, pattern=_PRINTABLE_LINES)]
Name = Annotated[str, Field(min_length=1, max_length=128, pattern=TRIMMED)]
JobId = Annotated[str, Field(pattern=JOB_ID)]
KnownState = Annotated[JobState, Field(strict=False)]
KnownReason = Annotated[Reason, Field(strict=False)]
_Key = Annotated[str, Field(min_length=1, max_length=200)]


class _Archived(StrictModel):
    """A part of job.json, to which later versions may add fields."""

    model_config = ConfigDict(extra="ignore")


class ArchivedAttempt(_Archived):
    """An attempt, which has ended."""

    number: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)]
    agent: Name
    reason: KnownReason
    message: Message
    started_at: Time
    finished_at: Time


class ArchivedStart(_Archived):
    """The file of another job that the job started from."""

    job: JobId
    mode: Literal["continue", "weights"]
    name: Name
    sha256: Annotated[str, Field(pattern=SHA256)]
    epoch: Count | None


class ArchivedEpoch(_Archived):
    """The metrics of the last epoch that had ended."""

    epoch: Count
    values: dict[_Key, float]


class ArchivedJob(_Archived):
    """A job that has ended, as the service that ran it returned it."""

    id: JobId
    name: Name
    state: KnownState
    reason: KnownReason
    message: Message
    priority: Annotated[int, Field(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY)]
    finish_by: Time | None = None
    start_from: ArchivedStart | None = None
    attempt: Annotated[int, Field(ge=0, le=MAX_ATTEMPTS)]
    progress: dict[str, Any] | None
    summary: Annotated[dict[_Key, float], Field(max_length=64)] | None
    spec: dict[str, Any]
    spec_sha256: str
    created_at: Time
    started_at: Time | None
    finished_at: Time
    updated_at: Time
    phase_seconds: Annotated[
        dict[_Key, Annotated[float, Field(ge=0, le=_MAX_SECONDS)]], Field(max_length=32)
    ]
    attempts: ListOf[ArchivedAttempt]
    last_seq: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    tags: Annotated[ListOf[Annotated[str, Field(pattern=TAG)]], Field(max_length=MAX_TAGS)] = ()
    group: Annotated[str, Field(pattern=GROUP)] | None = None
    notes: Annotated[str, Field(max_length=MAX_NOTES, pattern=_PRINTABLE_LINES)] = ""
    version: Annotated[int, Field(ge=1, le=MAX_INTEGER)]

    @field_validator("progress", mode="after")
    @classmethod
    def _check_progress(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        """Checks the fields of the last metric event, and those of the last epoch."""
        if value is not None:
            metric = {name: each for name, each in value.items() if name != "evaluated"}
            adapter_of(MetricEvent).validate_python(metric)
            adapter_of(ArchivedEpoch | None).validate_python(value.get("evaluated"))
        return value

    def problems(self) -> Iterator[Problem]:
        """Yields a problem where the fields contradict each other."""
        if OUTCOMES[self.reason] is not self.state:
            detail = f"a job that ended with {self.reason.value} is not {self.state.value}"
            yield Problem("/state", "contradiction", detail)
        if [each.number for each in self.attempts] != list(range(1, self.attempt + 1)):
            detail = f"the attempts are not numbered from 1 to {self.attempt}"
            yield Problem("/attempts", "contradiction", detail)
        if (self.started_at is None) is not (self.attempt == 0):
            detail = "a job has started if, and only if, it has an attempt"
            yield Problem("/started_at", "contradiction", detail)
