"""The route of the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from ipulse_core.limits import MAX_INTEGER
from ipulse_service.db import audit
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import DIGITS, State
from ipulse_service.http.schemas.audit import AuditEntryInfo, AuditPage

MAX_PAGE = 1000

router = APIRouter(prefix="/v1", tags=["people"])


class AuditQuery(BaseModel):
    """Query parameters of the audit log."""

    model_config = ConfigDict(extra="forbid")

    after: Annotated[int, Field(ge=0, le=MAX_INTEGER), DIGITS] = Field(
        default=0, description="Return the entries after this number."
    )
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), DIGITS] = Field(
        default=100, description="Entries on a page."
    )
    actor: str | None = Field(default=None, max_length=64, description="Only of this person.")
    action: str | None = Field(
        default=None,
        max_length=32,
        description="Only actions that begin so: `job.`, `token.create`.",
    )
    target: str | None = Field(
        default=None, max_length=128, description="Only about the object of this id or name."
    )


@router.get("/audit", summary="Read the audit log", response_description="A page of entries.")
@open_to("owner")
def read_audit_log(query: Annotated[AuditQuery, Query()], state: State) -> AuditPage:
    """Returns who did what, in order. For administrators.

    Each entry has a digest over its fields and the digest of the entry before it, so that a change
    or a removal is noticed: `ipulse audit verify` computes all of them again.
    """
    with state.database.read() as transaction:
        found = audit.page(
            transaction,
            query.after,
            query.limit + 1,
            actor=query.actor,
            action=query.action,
            target=query.target,
        )
    shown = found[: query.limit]
    return AuditPage(
        entries=[AuditEntryInfo.of(entry) for entry in shown],
        next_after=shown[-1].number if shown else query.after,
        end=len(found) <= query.limit,
    )
