"""What happened to a job: one gap-free, ever growing sequence per job, and nothing is edited."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select

from ipulse import strict_json
from ipulse.errors import Conflict

from .database import Transaction, rfc3339
from .tables import events

KINDS = ("state", "phase", "progress", "metric", "log", "checkpoint")


class SequenceGap(Conflict):
    """Events are missing between the last one stored and the first one sent."""

    code = "sequence_gap"


@dataclass(frozen=True)
class Occurrence:
    """Something to be written down: the kind of event and its fields."""

    kind: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Page:
    """Some events of a job in order, and where the next page begins."""

    events: list[dict[str, Any]]
    next_after: int


def append(
    transaction: Transaction,
    job_pk: int,
    last_seq: int,
    attempt: int | None,
    occurrences: Sequence[Occurrence],
) -> int:
    """Writes events down after `last_seq`; returns the new last one.

    The caller stores it in the job's row, in this transaction: that row is what makes two
    writers take different numbers.
    """
    rows = [
        {
            "job_pk": job_pk,
            "seq": seq,
            "time": transaction.now,
            "attempt": attempt,
            "kind": occurrence.kind,
            "body": strict_json.dumps(occurrence.body),
        }
        for seq, occurrence in enumerate(occurrences, start=last_seq + 1)
    ]
    if rows:
        transaction.connection.execute(insert(events), rows)
    return last_seq + len(rows)


def page(
    transaction: Transaction,
    job_pk: int,
    last_seq: int,
    after: int,
    limit: int,
    kinds: Collection[str] = (),
) -> Page:
    """At most `limit` events after `after`, of all kinds unless some are named.

    `last_seq` is the job's, read in this transaction: events that the kinds leave out are
    passed over for good.
    """
    query = (
        select(events)
        .where(events.c.job_pk == job_pk, events.c.seq > after)
        .order_by(events.c.seq)
        .limit(limit)
    )
    if kinds:
        query = query.where(events.c.kind.in_(sorted(kinds)))
    rows = transaction.connection.execute(query).all()
    found = [
        {
            "seq": row.seq,
            "time": rfc3339(row.time),
            "attempt": row.attempt,
            "kind": row.kind,
            **json.loads(row.body),
        }
        for row in rows
    ]
    full = len(rows) == limit
    return Page(found, rows[-1].seq if full else max(after, last_seq))
