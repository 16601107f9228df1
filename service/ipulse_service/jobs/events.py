"""What happened to a job: one gap-free, ever growing sequence per job, and nothing is edited."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import NamedTuple

from sqlalchemy import Integer, TextClause, bindparam, select, text

from ipulse_core.errors import Conflict
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.tables import events

KINDS = ("state", "phase", "progress", "metric", "log", "checkpoint")


class SequenceGap(Conflict):
    """Events are missing between the last one stored and the first one sent."""

    code = "sequence_gap"


class OtherHistory(Conflict):
    """This job's events are others now than those you have seen: the service was put back to an
    older state, and went on from there. Begin at the first event."""

    code = "other_history"


class NewEvent(NamedTuple):
    """Something to be written down: the kind of event and the JSON of its fields."""

    kind: str
    body: str


class StoredEvent(NamedTuple):
    """An event as it is told: its number, its time, its kind and its JSON."""

    seq: int
    time: int
    kind: str
    text: str


@dataclass(frozen=True)
class Page:
    """Some events of a job in order, and where the next page begins."""

    events: list[StoredEvent]
    next_after: int


_SOME = (
    select(events.c.seq, events.c.time, events.c.attempt, events.c.kind, events.c.body)
    .where(events.c.job_pk == bindparam("of_job"), events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("most", type_=Integer))
)
_TIME = select(events.c.time).where(
    events.c.job_pk == bindparam("of_job"), events.c.seq == bindparam("seq")
)
_SOME_OF_KINDS = _SOME.where(events.c.kind.in_(bindparam("kinds", expanding=True)))
# Many rows are one step of SQLite: between two steps another thread takes the interpreter's lock,
# and with two threads that step ten thousand times each, both wait for most of the time.
_APPEND = {
    "sqlite": text(
        "INSERT INTO events (job_pk, seq, time, attempt, kind, body)"
        " SELECT :job_pk, :last_seq + 1 + key, :time, :attempt,"
        " json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:said)"
    ),
    "postgresql": text(
        "INSERT INTO events (job_pk, seq, time, attempt, kind, body)"
        " SELECT CAST(:job_pk AS bigint), CAST(:last_seq AS bigint) + place,"
        " CAST(:time AS bigint), CAST(:attempt AS integer), said ->> 0, said ->> 1"
        " FROM json_array_elements(CAST(:said AS json)) WITH ORDINALITY AS told(said, place)"
    ),
}
# Lines of a log of one origin. Their texts alone come from Python: what makes events of them is
# the same for all.
_APPEND_LINES = {
    "sqlite": text(
        "INSERT INTO events (job_pk, seq, time, attempt, kind, body)"
        " SELECT :job_pk, :last_seq + 1 + key, :time, :attempt, 'log',"
        " :head || json_quote(value) || :tail FROM json_each(:said)"
    ),
    "postgresql": text(
        "INSERT INTO events (job_pk, seq, time, attempt, kind, body)"
        " SELECT CAST(:job_pk AS bigint), CAST(:last_seq AS bigint) + place,"
        " CAST(:time AS bigint), CAST(:attempt AS integer), 'log',"
        " CAST(:head AS text) || CAST(said AS text) || CAST(:tail AS text)"
        " FROM json_array_elements(CAST(:said AS json)) WITH ORDINALITY AS told(said, place)"
    ),
}
_DIFFERS = re.compile(r'\\[^"\\]')  # what SQLite would write in another way than Python does
_LOG_ROWS = " FROM events WHERE job_pk = :job_pk AND seq > :after AND seq <= :last AND kind = 'log'"
_LOG = {
    # It takes rows as they come, and they come in the order of the key.
    "sqlite": text(
        "SELECT group_concat(json_extract(body, '$.message') || char(10), '')" + _LOG_ROWS
    ),
    "postgresql": text(
        "SELECT string_agg((CAST(body AS json) ->> 'message') || chr(10), '' ORDER BY seq)"
        + _LOG_ROWS
    ),
}


def append(
    transaction: Transaction,
    job_pk: int,
    last_seq: int,
    attempt: int | None,
    new_events: Sequence[NewEvent],
) -> int:
    """Writes events down after `last_seq`; returns the new last one.

    The caller stores it in the job's row, in this transaction: that row is what makes two
    writers take different numbers.
    """
    if not new_events:
        return last_seq
    said = json.dumps(new_events)
    return _append(transaction, _APPEND, job_pk, last_seq, attempt, len(new_events), said=said)


def append_lines(
    transaction: Transaction,
    job_pk: int,
    last_seq: int,
    attempt: int,
    lines: Sequence[str],
    level: str,
    stream: str,
) -> int:
    """As `append`, for lines of a log, each of which becomes an event, in less time: a job may
    print 10,000 at once."""
    said = json.dumps(lines)
    if _DIFFERS.search(said):
        return append(transaction, job_pk, last_seq, attempt, of_lines(lines, level, stream))
    head, tail = _around(level, stream)
    around = {"head": head, "tail": tail, "said": said}
    return _append(transaction, _APPEND_LINES, job_pk, last_seq, attempt, len(lines), **around)


def of_lines(lines: Iterable[str], level: str, stream: str) -> list[NewEvent]:
    """An event for each line of a log."""
    head, tail = _around(level, stream)
    return [NewEvent("log", f"{head}{encode_basestring_ascii(line)}{tail}") for line in lines]


def _around(level: str, stream: str) -> tuple[str, str]:
    """What stands in the canonical JSON of a log event before its text, and behind."""
    return f'{{"level":"{level}","message":', f',"stream":"{stream}"}}'


def _append(
    transaction: Transaction,
    statements: Mapping[str, TextClause],
    job_pk: int,
    last_seq: int,
    attempt: int | None,
    count: int,
    **what: str,
) -> int:
    values = {"job_pk": job_pk, "last_seq": last_seq, "time": transaction.now, "attempt": attempt}
    statement = statements[transaction.connection.dialect.name]
    transaction.connection.execute(statement, {**values, **what})
    return last_seq + count


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


def check_same(transaction: Transaction, job_pk: int, seq: int, time: int) -> None:
    """Raises OtherHistory unless a job's event of this number happened at that time.

    Numbers are given out again after an old copy of the database was put back, or a standby took
    over that had not everything; no two histories have their events at the same times.
    """
    found = transaction.connection.execute(_TIME, {"of_job": job_pk, "seq": seq})
    if found.scalar_one_or_none() != time:
        raise OtherHistory()


def log(transaction: Transaction, job_pk: int, after: int, last: int) -> str:
    """The lines that a job's programs wrote, of the events behind `after` up to `last`."""
    asked = {"job_pk": job_pk, "after": after, "last": last}
    query = _LOG[transaction.connection.dialect.name]
    return transaction.connection.execute(query, asked).scalar_one() or ""


def _told(seq: int, time: int, attempt: int | None, kind: str, body: str) -> StoredEvent:
    # The body is the JSON of an object already: parsing it, to write it again, would cost more
    # than all the rest.
    number = "null" if attempt is None else attempt
    head = f'{{"seq":{seq},"time":"{rfc3339(time)}","attempt":{number},"kind":"{kind}"'
    return StoredEvent(seq, time, kind, f"{head}}}" if body == "{}" else f"{head},{body[1:]}")
