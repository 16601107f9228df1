"""What happened to a job: one gap-free, ever growing sequence per job, and nothing is edited."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Integer, bindparam, cast, func, select
from sqlalchemy.dialects.postgresql import JSON

from ipulse.errors import Conflict

from .database import Transaction, rfc3339
from .tables import events

KINDS = ("state", "phase", "progress", "metric", "log", "checkpoint")


class SequenceGap(Conflict):
    """Events are missing between the last one stored and the first one sent."""

    code = "sequence_gap"


class Occurrence(NamedTuple):
    """Something to be written down: the kind of event and the JSON of its fields."""

    kind: str
    body: str


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
# The database takes the line out of the body: it does so in a third of the time that we need.
_MESSAGE = {
    "sqlite": func.json_extract(events.c.body, "$.message"),
    "postgresql": cast(events.c.body, JSON)["message"].astext,
}
_LOG = {
    dialect: select(events.c.seq, message)
    .where(
        events.c.job_pk == bindparam("of_job"),
        events.c.seq > bindparam("after"),
        events.c.kind == "log",
    )
    .order_by(events.c.seq)
    .limit(bindparam("most", type_=Integer))
    for dialect, message in _MESSAGE.items()
}


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
            "body": occurrence.body,
        }
        for seq, occurrence in enumerate(occurrences, start=last_seq + 1)
    ]
    if rows:
        transaction.append(events, rows)
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
    query = _LOG[transaction.connection.dialect.name]
    rows = transaction.connection.execute(query, asked).all()
    return Lines([line for _, line in rows], rows[-1].seq if rows else after)


def _told(seq: int, time: int, attempt: int | None, kind: str, body: str) -> Told:
    # The body is the JSON of an object already: parsing it, to write it again, would cost more
    # than all the rest.
    number = "null" if attempt is None else attempt
    head = f'{{"seq":{seq},"time":"{rfc3339(time)}","attempt":{number},"kind":"{kind}"'
    return Told(seq, kind, f"{head}}}" if body == "{}" else f"{head},{body[1:]}")
