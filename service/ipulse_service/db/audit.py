"""The audit log: who did what, written in the transaction of the change, in a chain of digests.

Names are copied, and rows refer to no other table, so that no deletion erases what was done. Specs,
data and secrets are not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import insert, select

from ipulse.audit_chain import FIRST, digest
from ipulse_service.db.tables import audit

if TYPE_CHECKING:
    from ipulse_service.db.engine import Transaction

Outcome = Literal["ok", "denied"]
LONGEST_DETAIL = 500


@dataclass(frozen=True)
class AuditEntry:
    """An action of somebody, or an attempt at one, with one object."""

    action: str  # such as job.cancel
    target: str  # id or name
    project: str | None = None
    detail: str = ""
    outcome: Outcome = "ok"

    @property
    def target_kind(self) -> str:
        """The kind of the object."""
        return self.action.partition(".")[0]


@dataclass(frozen=True)
class StoredAuditEntry:
    """An entry of the log. The time is in milliseconds since 1970."""

    number: int
    time: int
    actor: str
    token_id: str | None
    request_id: str
    action: str
    target_kind: str
    target: str
    project: str | None
    outcome: str
    detail: str
    previous_sha256: str
    sha256: str


def write(transaction: Transaction, entries: Sequence[AuditEntry]) -> None:
    """Appends entries of the caller to the chain.

    The lock lets one transaction at a time do so, and is the last one that a transaction takes.
    """
    transaction.lock("audit")
    query = select(audit.c.number, audit.c.sha256).order_by(audit.c.number.desc()).limit(1)
    row = transaction.connection.execute(query).one_or_none()
    number, previous = (0, FIRST) if row is None else (row.number, row.sha256)
    access = transaction.access
    rows: list[dict[str, Any]] = []
    for entry in entries:
        number += 1
        values: dict[str, Any] = {
            "number": number,
            "time": transaction.now,
            "actor": access.name,
            "token_id": access.token_id,
            "request_id": access.request_id,
            "action": entry.action,
            "target_kind": entry.target_kind,
            "target": entry.target[:128],
            "project": entry.project,
            "outcome": entry.outcome,
            "detail": entry.detail[:LONGEST_DETAIL],
        }
        values |= {"previous_sha256": previous, "sha256": digest(values, previous)}
        previous = values["sha256"]
        rows.append(values)
    transaction.connection.execute(insert(audit), rows)


def page(
    transaction: Transaction,
    after: int,
    limit: int,
    *,
    actor: str | None = None,
    action: str | None = None,
    target: str | None = None,
) -> list[StoredAuditEntry]:
    """Returns entries with greater numbers, in order; an action may be named by its beginning."""
    query = select(audit).where(audit.c.number > after).order_by(audit.c.number).limit(limit)
    if actor is not None:
        query = query.where(audit.c.actor == actor)
    if action is not None:
        query = query.where(audit.c.action.startswith(action, autoescape=True))
    if target is not None:
        query = query.where(audit.c.target == target)
    rows = transaction.connection.execute(query)
    return [StoredAuditEntry(**row._mapping) for row in rows]
