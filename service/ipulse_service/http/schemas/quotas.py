"""Quotas and used device time as the API takes and returns them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import BaseModel, Field

from ipulse.models import StrictModel
from ipulse_core.limits import PRINTABLE
from ipulse_core.quotas import Quota
from ipulse_service.http.schemas.base import example
from ipulse_service.quotas.store import Scope
from ipulse_service.quotas.usage import UsedTime

GREATEST = 2**53 - 1  # exact in every client
ABOUT_QUOTAS = (
    "queued_jobs; devices: at once; device_seconds: a month; bytes: of stored files; datasets; "
    "uploads: unfinished ones; checks: data sets that are being checked; priority: the highest; "
    "share: of the devices, relative to others that want them (1 unless it is set)."
)
_MS_PER_HOUR = 3_600_000

Limit = Annotated[int, Field(ge=0, le=GREATEST, strict=True)]
Priority = Annotated[int, Field(ge=-100, le=100, strict=True)]


class LimitChanges(StrictModel):
    """Limits to set; null removes one, and what is left out stays."""

    model_config = example(queued_jobs=100, devices=4)

    queued_jobs: Limit | None = None
    devices: Limit | None = None
    device_seconds: Limit | None = None
    bytes: Limit | None = None
    datasets: Limit | None = None
    uploads: Limit | None = None
    checks: Limit | None = None
    priority: Priority | None = None
    share: Limit | None = None

    def given(self) -> dict[Quota, int | None]:
        """Returns the limits that the request names."""
        return {Quota(name): getattr(self, name) for name in self.model_fields_set}


class QuotaChange(StrictModel):
    """A change of the quotas of a project, or of a person in it."""

    model_config = example(user="alice", limits={"devices": 2})

    user: str | None = Field(
        default=None, max_length=64, pattern=PRINTABLE, description="Null: all members together."
    )
    limits: LimitChanges = Field(description=ABOUT_QUOTAS)


class UserQuotaChange(StrictModel):
    """A change of the quotas of a person in all projects."""

    model_config = example(limits={"devices": 2})

    limits: LimitChanges = Field(description=ABOUT_QUOTAS)


class QuotaInfo(BaseModel):
    """A quota, and how much of it is used."""

    model_config = example(project="vision", user="alice", name="devices", limit=4, used=1)

    project: str | None = Field(description="Null: all projects of the person.")
    user: str | None = Field(description="Null: all members of the project together.")
    name: Quota = Field(description=ABOUT_QUOTAS)
    limit: int
    used: int | None = Field(description="Null for priority and share.")

    @classmethod
    def of(cls, found: Iterable[tuple[Scope, Quota, int, int | None]]) -> list[Self]:
        """Returns the models of quotas."""
        return [
            cls(
                project=scope.project or None,
                user=scope.principal or None,
                name=name,
                limit=limit,
                used=used,
            )
            for scope, name, limit, used in found
        ]


class QuotaList(BaseModel):
    """Quotas; where none is set there is no limit."""

    model_config = example(
        quotas=[{"project": "vision", "user": "alice", "name": "devices", "limit": 4, "used": 1}]
    )

    quotas: list[QuotaInfo]


_USAGE = {
    "project": "vision",
    "user": "alice",
    "device": "ipu",
    "month": "2026-01",
    "device_hours": 12.5,
    "failed_hours": 0.5,
    "lost_hours": 0.0,
    "attempts": 31,
}


class UsageRow(BaseModel):
    """Device time of attempts that have ended; a value that was not asked for is null."""

    model_config = example(**_USAGE)

    project: str | None
    user: str | None
    device: str | None
    month: str | None = Field(description="In UTC, of the end of the attempts.")
    device_hours: float = Field(description="All of it. A job with n IPUs counts n times.")
    failed_hours: float = Field(description="Of these, of attempts that failed.")
    lost_hours: float = Field(description="Of these, of attempts that the workers have lost.")
    attempts: int


class DeviceUsage(BaseModel):
    """Device time by project, person, kind of device and month."""

    model_config = example(usage=[_USAGE])

    usage: list[UsageRow]

    @classmethod
    def of(cls, used: Iterable[UsedTime], by: Iterable[str]) -> Self:
        """Returns the device time, added up by these columns."""
        columns = ("project", "user", "device", "month")
        wanted = set(by)
        sums: dict[tuple[str | None, ...], list[int]] = {}
        for each in used:
            values = (each.project, each.owner, each.device, each.month)
            key = tuple(
                value if name in wanted else None
                for name, value in zip(columns, values, strict=True)
            )
            total = sums.setdefault(key, [0, 0, 0, 0])
            total[0] += each.device_ms
            total[1] += each.device_ms * (each.outcome == "failed")
            total[2] += each.device_ms * (each.outcome == "lost")
            total[3] += each.attempts
        rows = [
            UsageRow(
                **dict(zip(columns, key, strict=True)),
                device_hours=total / _MS_PER_HOUR,
                failed_hours=failed / _MS_PER_HOUR,
                lost_hours=lost / _MS_PER_HOUR,
                attempts=attempts,
            )
            for key, (total, failed, lost, attempts) in sums.items()
        ]
        return cls(usage=rows)
