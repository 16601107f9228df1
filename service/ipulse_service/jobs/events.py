"""The events of a job: one growing sequence without gaps, in which nothing is ever edited."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from sqlalchemy import Integer, Select, bindparam, insert, select

from ipulse_core.errors import Conflict
from ipulse_core.events import MAX_LINE
from ipulse_core.limits import escape_deceptive
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.tables import events
from ipulse_service.jobs import activity

MAX_PAGE_SIZE = 2**23  # characters of a page, about
_AT_ONCE = 100  # events that are read at once
KINDS = ("state", "phase", "progress", "metric", "log", "checkpoint")


class SequenceGap(Conflict):
    """Events are missing between the last one stored and the first one sent."""

    code = "sequence_gap"


class OtherHistory(Conflict):
    """The service was restored from a backup: read this job's events again from the first one."""

    code = "other_history"


class NewEvent(NamedTuple):
    """An event to store: its kind and the JSON of its fields."""

    kind: str
    body: str


class StoredEvent(NamedTuple):
    """A stored event: its number, time, kind and JSON."""

    seq: int
    time: int
    kind: str
    text: str


@dataclass(frozen=True)
class Page:
    """Some events of a job in order, and where the next page begins."""

    events: list[StoredEvent]
    next_after: int


_INSERT = insert(events)
_PAGE = (
    select(events.c.seq, events.c.time, events.c.attempt, events.c.kind, events.c.body)
    .where(events.c.job_pk == bindparam("of_job"), events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("most", type_=Integer))
)
_LAST = _PAGE.where(events.c.seq < bindparam("before")).order_by(None).order_by(events.c.seq.desc())
_LAST_OF_KINDS = _LAST.where(events.c.kind.in_(bindparam("kinds", expanding=True)))
_PAGE_OF_KINDS = _PAGE.where(events.c.kind.in_(bindparam("kinds", expanding=True)))
_TIME = select(events.c.time).where(
    events.c.job_pk == bindparam("of_job"), events.c.seq == bindparam("seq")
)
_LOG = (
    select(events.c.body)
    .where(
        events.c.job_pk == bindparam("of_job"),
        events.c.seq > bindparam("after"),
        events.c.seq <= bindparam("last"),
        events.c.kind == "log",
    )
    .order_by(events.c.seq)
)


def append(
    transaction: Transaction,
    job_pk: int,
    last_seq: int,
    attempt: int | None,
    new_events: Sequence[NewEvent],
) -> int:
    """Stores events after `last_seq` and returns the new last number.

    The caller writes it to the job's row in this transaction: the row makes concurrent writers
    use different numbers.
    """
    rows = rows_of(transaction.now, job_pk, last_seq, attempt, new_events)
    insert_rows(transaction, rows)
    return last_seq + len(rows)


def begin(transaction: Transaction, job_pk: int, event: NewEvent) -> None:
    """Stores the first event of a new job, before the commit."""
    rows = rows_of(transaction.now, job_pk, 0, None, [event])
    transaction.insert_last(_INSERT, rows)
    activity.add(transaction, rows)


def rows_of(
    now: int, job_pk: int, last_seq: int, attempt: int | None, new_events: Sequence[NewEvent]
) -> list[dict[str, Any]]:
    """Returns the rows of events after `last_seq`, for `insert_rows`; see `append`."""
    return [
        {
            "job_pk": job_pk,
            "seq": seq,
            "time": now,
            "attempt": attempt,
            "kind": event.kind,
            "body": event.body,
        }
        for seq, event in enumerate(new_events, last_seq + 1)
    ]


def insert_rows(
    transaction: Transaction, rows: Sequence[dict[str, Any]], are_new: bool = True
) -> None:
    """Stores rows, which may belong to several jobs; those of an archive are not new."""
    if rows:
        transaction.connection.execute(_INSERT, rows)
        if are_new:
            activity.add(transaction, rows)


def log_events(lines: Iterable[str], level: str, stream: str) -> list[NewEvent]:
    """Returns an event for each line of a log, without characters that deceive its readers."""
    # Other writers wait meanwhile: 10,000 lines take 3 ms; with an encoder of objects, 24 ms.
    head, tail = f'{{"level":"{level}","message":', f',"stream":"{stream}"}}'
    return [NewEvent("log", f"{head}{_quoted(line)}{tail}") for line in lines]


def _quoted(line: str) -> str:
    if not line.isascii():
        line = escape_deceptive(line)[:MAX_LINE]
    return encode_basestring_ascii(line)


def page(
    transaction: Transaction,
    job_pk: int,
    last_seq: int,
    after: int,
    limit: int,
    kinds: Collection[str] = (),
) -> Page:
    """Returns at most `limit` events after `after`, of all kinds unless some are named.

    There are fewer if they are large. `last_seq` is the job's, read in this transaction. The last
    page ends with it, even if the last events are of other kinds.
    """
    query = _PAGE_OF_KINDS if kinds else _PAGE
    stored: list[StoredEvent] = []
    size, is_full = 0, False
    while not is_full:
        wanted = min(_AT_ONCE, limit - len(stored))
        begin = stored[-1].seq if stored else after
        part = _select(transaction, query, job_pk, begin, wanted, kinds)
        stored += part
        if len(part) < wanted:
            return Page(stored, max(after, last_seq))
        size += sum(len(event.text) for event in part)
        is_full = len(stored) == limit or size >= MAX_PAGE_SIZE
    return Page(stored, stored[-1].seq)


def last_page(
    transaction: Transaction,
    job_pk: int,
    last_seq: int,
    after: int,
    limit: int,
    kinds: Collection[str] = (),
) -> Page:
    """Returns the last `limit` events after `after`, oldest first, as `page` does the first."""
    query = _LAST_OF_KINDS if kinds else _LAST
    stored: list[StoredEvent] = []
    size, before = 0, last_seq + 1
    while len(stored) < limit and size < MAX_PAGE_SIZE:
        wanted = min(_AT_ONCE, limit - len(stored))
        part = _select(transaction, query, job_pk, after, wanted, kinds, before)
        stored += part
        if len(part) < wanted:
            break
        size += sum(len(event.text) for event in part)
        before = part[-1].seq
    return Page(stored[::-1], max(after, last_seq))


def _select(
    transaction: Transaction,
    query: Select[Any],
    job_pk: int,
    after: int,
    limit: int,
    kinds: Collection[str],
    before: int | None = None,
) -> list[StoredEvent]:
    parameters: dict[str, Any] = {"of_job": job_pk, "after": after, "most": limit}
    if before is not None:
        parameters["before"] = before
    if kinds:
        parameters["kinds"] = sorted(kinds)
    return [_stored_event(*row) for row in transaction.connection.execute(query, parameters)]


def check_same(transaction: Transaction, job_pk: int, seq: int, time: int) -> None:
    """Raises OtherHistory unless a job's event of this number has this time.

    After an old backup was restored, or an incomplete standby took over, numbers are used again.
    Two histories do not have their events at the same times.
    """
    row = transaction.connection.execute(_TIME, {"of_job": job_pk, "seq": seq})
    if row.scalar_one_or_none() != time:
        raise OtherHistory()


def log(transaction: Transaction, job_pk: int, after: int, last: int) -> str:
    """Returns the lines that a job's programs wrote, from the events after `after` up to `last`."""
    parameters = {"of_job": job_pk, "after": after, "last": last}
    bodies = transaction.connection.execute(_LOG, parameters).scalars()
    return "".join(f"{json.loads(body)['message']}\n" for body in bodies)


def _stored_event(seq: int, time: int, attempt: int | None, kind: str, body: str) -> StoredEvent:
    # The body is the JSON of an object, so that it need not be parsed and written again.
    number = "null" if attempt is None else attempt
    head = f'{{"seq":{seq},"time":"{rfc3339(time)}","attempt":{number},"kind":"{kind}"'
    return StoredEvent(seq, time, kind, f"{head}}}" if body == "{}" else f"{head},{body[1:]}")
