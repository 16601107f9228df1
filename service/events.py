"""What happened to a job: one gap-free, ever growing sequence per job, and nothing is edited."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Integer, bindparam, insert, select

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


class Told(NamedTuple):
    """An event as it is told: its number, its kind and its JSON."""

    seq: int
    kind: str
    text: str


@dataclass(frozen=True)
class Page:
    """Some events of a job in order, and where the next page begins."""

    events: list[Told]
    next_after: int


@dataclass(frozen=True)
class Lines:
    """Some lines of a job's log in order, and where the next ones begin."""

    lines: list[str]
    next_after: int


_SOME = (
    select(events.c.seq, events.c.time, events.c.attempt, events.c.kind, events.c.body)
    .where(events.c.job_pk == bindparam("of_job"), events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("most", type_=Integer))
)
_SOME_OF_KINDS = _SOME.where(events.c.kind.in_(bindparam("kinds", expanding=True)))
_LOG = (
    select(events.c.seq, events.c.body)
    .where(
        events.c.job_pk == bindparam("of_job"),
        events.c.seq > bindparam("after"),
        events.c.kind == "log",
    )
    .order_by(events.c.seq)
    .limit(bindparam("most", type_=Integer))
)
_APPEND = insert(events)


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
        transaction.connection.execute(_APPEND, rows)
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
    asked = {"of_job": job_pk, "after": after, "most": limit}
    if kinds:
        rows = transaction.connection.execute(_SOME_OF_KINDS, {**asked, "kinds": sorted(kinds)})
    else:
        rows = transaction.connection.execute(_SOME, asked)
    found = [_told(*row) for row in rows]
    full = len(found) == limit
    return Page(found, found[-1].seq if full else max(after, last_seq))


def log(transaction: Transaction, job_pk: int, after: int, limit: int) -> Lines:
    """At most `limit` lines of what a job's programs wrote, after an event; fewer are the last."""
    asked = {"of_job": job_pk, "after": after, "most": limit}
    rows = transaction.connection.execute(_LOG, asked).all()
    # One call of the parser for all of them: it costs more than to read one.
    bodies = json.loads(f"[{','.join([row.body for row in rows])}]")
    return Lines([body["message"] for body in bodies], rows[-1].seq if rows else after)


def _told(seq: int, time: int, attempt: int | None, kind: str, body: str) -> Told:
    # The body is the JSON of an object already: parsing it, to write it again, would cost more
    # than all the rest.
    number = "null" if attempt is None else attempt
    head = f'{{"seq":{seq},"time":"{rfc3339(time)}","attempt":{number},"kind":"{kind}"'
    return Told(seq, kind, f"{head}}}" if body == "{}" else f"{head},{body[1:]}")
