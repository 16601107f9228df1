"""The changes of all jobs in one sequence, which clients follow with a cursor.

A later row must never commit below a cursor that somebody has. SQLite has one writer. In PostgreSQL
transactions commit in any order: rows are read in the order of (transaction, key), and only below
the oldest transaction that has not ended, so that no commit waits for another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, delete, func, insert, literal, or_, select, text, true

from ipulse_core import strict_json
from ipulse_core.errors import Conflict, InvalidInput, Problem
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.tables import DELETED, IMPORTING, activity, events, jobs

TOPIC = "activity"
KEPT_MS = 30 * 86_400_000
KIND = "state"  # of the events that are in it
_FORM = re.compile(r"([0-9a-f]{1,16})\.([0-9a-f]{1,16})\.([0-9a-f]{1,12})")


class EventsExpired(Conflict):
    """The events after this cursor were deleted: begin again without one, and list the jobs."""

    code = "events_expired"


class OtherActivity(Conflict):
    """The service was restored from a backup: begin again without a cursor, and list the jobs."""

    code = "other_history"


@dataclass(frozen=True)
class Cursor:
    """A place in the sequence: after the row with this transaction, key and time."""

    xid: int
    pk: int
    time: int

    @classmethod
    def parse(cls, written: str) -> Cursor:
        """Reads a cursor. Raises InvalidInput."""
        match = _FORM.fullmatch(written)
        if match is None:
            raise InvalidInput(
                [Problem("/query/after", "wrong_form", "must be a cursor of this sequence")]
            )
        return cls(*(int(part, 16) for part in match.groups()))

    def __str__(self) -> str:
        return f"{self.xid:x}.{self.pk:x}.{self.time:x}"


START = Cursor(0, 0, 0)
_INSERT = insert(activity)


@dataclass(frozen=True)
class ActivityPage:
    """Some events that the caller may read, each with its cursor, and where the next page begins.

    With `has_more` further rows can be read at once.
    """

    events: list[tuple[Cursor, str]]
    next_after: Cursor
    has_more: bool


def add(transaction: Transaction, rows: Sequence[dict[str, Any]]) -> None:
    """Adds the changes among the rows of new events."""
    changes = [
        {"xid": transaction.xid, **{name: row[name] for name in ("time", "job_pk", "seq")}}
        for row in rows
        if row["kind"] == KIND
    ]
    if changes:
        transaction.insert_last(_INSERT, changes)
        transaction.topics.add(TOPIC)


def page(transaction: Transaction, after: Cursor, limit: int, project: str | None) -> ActivityPage:
    """Returns the events after a cursor. Raises EventsExpired, OtherActivity."""
    _check(transaction, after)
    is_later = or_(
        activity.c.xid > after.xid, and_(activity.c.xid == after.xid, activity.c.pk > after.pk)
    )
    rows = transaction.connection.execute(
        select(activity.c.xid, activity.c.pk, activity.c.time)
        .where(is_later, _is_settled(transaction))
        .order_by(activity.c.xid, activity.c.pk)
        .limit(limit)
    ).all()
    if not rows:
        return ActivityPage([], after, False)
    last = Cursor(*rows[-1])
    return ActivityPage(_visible(transaction, rows, project), last, len(rows) == limit)


def end(transaction: Transaction) -> Cursor:
    """Returns the cursor after all events until now."""
    query = select(activity.c.xid, activity.c.pk, activity.c.time)
    query = query.where(_is_settled(transaction))
    last = query.order_by(activity.c.xid.desc(), activity.c.pk.desc()).limit(1)
    row = transaction.connection.execute(last).one_or_none()
    return START if row is None else Cursor(*row)


def head(transaction: Transaction) -> int | None:
    """Returns the greatest key, which changes with each row of any replica."""
    greatest: int | None = transaction.connection.execute(
        select(func.max(activity.c.pk))
    ).scalar_one()
    return greatest


def forget_old(transaction: Transaction) -> None:
    """Deletes rows of a month ago, except the last one, at which cursors may be."""
    old = activity.c.time < transaction.now - KEPT_MS
    last = head(transaction)
    transaction.connection.execute(delete(activity).where(old, activity.c.pk != last))


def _visible(
    transaction: Transaction, rows: Sequence[Any], project: str | None
) -> list[tuple[Cursor, str]]:
    columns = (activity.c.xid, activity.c.pk, activity.c.time, events.c.seq, events.c.attempt)
    of_job = (jobs.c.id, jobs.c.name, jobs.c.project, jobs.c.owner)
    query = (
        select(*columns, events.c.body, *of_job)
        .join(events, and_(events.c.job_pk == activity.c.job_pk, events.c.seq == activity.c.seq))
        .join(jobs, jobs.c.pk == activity.c.job_pk)
        .where(
            activity.c.pk.in_([row.pk for row in rows]),
            jobs.c.state.not_in([DELETED, IMPORTING]),
            transaction.access.where(jobs),
            true() if project is None else jobs.c.project == project,
        )
        .order_by(activity.c.xid, activity.c.pk)
    )
    found = []
    for row in transaction.connection.execute(query):
        cursor = Cursor(row.xid, row.pk, row.time)
        document = {
            "cursor": str(cursor),
            "job_id": row.id,
            "name": row.name,
            "project": row.project,
            "owner": row.owner,
            "seq": row.seq,
            "time": rfc3339(row.time),
            "attempt": row.attempt,
            "kind": KIND,
            **json.loads(row.body),
        }
        found.append((cursor, strict_json.dumps(document)))
    return found


def _check(transaction: Transaction, after: Cursor) -> None:
    if after == START:
        return
    query = select(activity.c.xid, activity.c.time).where(activity.c.pk == after.pk)
    row = transaction.connection.execute(query).one_or_none()
    if row is None and after.time < transaction.now - KEPT_MS:
        raise EventsExpired()
    if row is None or tuple(row) != (after.xid, after.time):
        raise OtherActivity()


def _is_settled(transaction: Transaction) -> Any:
    if transaction.connection.dialect.name == "sqlite":
        return true()
    oldest = text("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
    return activity.c.xid < literal(int(transaction.connection.execute(oldest).scalar_one()))
