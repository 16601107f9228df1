"""The audit log as the API returns it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field

from ipulse_service.db.audit import StoredAuditEntry
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.base import JOB_ID, SHA256, Timestamp, example

_ENTRY = {
    "number": 1,
    "time": 1_769_860_800_000,
    "shown_time": "2026-01-31T12:00:00.000Z",
    "actor": "alice",
    "token_id": "0123456789abcdef",
    "request_id": "84e99108bbdf88e9",
    "action": "job.cancel",
    "target_kind": "job",
    "target": JOB_ID,
    "project": "default",
    "outcome": "ok",
    "detail": "",
    "previous_sha256": "0" * 64,
    "sha256": SHA256,
}


class AuditEntryInfo(BaseModel):
    """An entry of the audit log."""

    model_config = example(**_ENTRY)

    number: int = Field(description="From 1 without gaps.")
    time: int = Field(description="Milliseconds since 1970 as stored, which the digest covers.")
    shown_time: Timestamp | None = Field(description="The same as a time of day.")
    actor: str = Field(description="The person or service account.")
    token_id: str | None = Field(description="Null for a token in a file.")
    request_id: str = Field(description="As in the service's log.")
    action: str
    target_kind: str
    target: str = Field(description="Id or name; the path of a refused request.")
    project: str | None
    outcome: Literal["ok", "denied"]
    detail: str
    previous_sha256: str = Field(description="The digest of the entry before.")
    sha256: str = Field(description="Over all fields and the digest of the entry before.")

    @classmethod
    def of(cls, entry: StoredAuditEntry) -> Self:
        """Returns the model of a stored entry."""
        return cls.model_validate({**vars(entry), "shown_time": rfc3339(entry.time)})


class AuditPage(BaseModel):
    """Entries of the audit log, in order."""

    model_config = example(entries=[_ENTRY], next_after=1, end=True)

    entries: list[AuditEntryInfo]
    next_after: int = Field(description="The value of `after` for the next page.")
    end: bool = Field(description="True if no entry followed at the moment of the response.")
