"""Deliveries, written in the transaction of the change that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, delete, func, insert, select, update

from ipulse_core import ids
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.tables import deliveries, webhooks
from ipulse_service.news import message

TOPIC = "news"  # notified when there is something to send
WAITING, DELIVERED, FAILED = "waiting", "delivered", "failed"
KEPT_DAYS = 30  # of deliveries that have ended
SHOWN = 100


class Due(NamedTuple):
    """A delivery that is to be sent now."""

    pk: int
    id: str
    tries: int
    body: str
    webhook_pk: int
    webhook_id: str
    url: str
    form: str


def job_ended(transaction: Transaction, state: str, data: dict[str, Any]) -> None:
    """Adds a delivery for each webhook that wants to know of this end."""
    kind = f"job.{state}"
    if transaction.webhooks is None:
        query = select(webhooks.c.pk, webhooks.c.form, webhooks.c.types).where(webhooks.c.is_on)
        transaction.webhooks = [*map(tuple, transaction.connection.execute(query))]
    wanted = [(pk, form) for pk, form, types in transaction.webhooks if kind in types.split()]
    add(transaction, wanted, kind, data)


def add(
    transaction: Transaction, receivers: Sequence[tuple[int, str]], kind: str, data: dict[str, Any]
) -> None:
    """Adds a delivery for each of these webhooks."""
    now = transaction.now
    rows = [
        {
            "id": ids.new_id(ids.MESSAGE),
            "webhook_pk": pk,
            "kind": kind,
            "job_id": data.get("id"),
            "body": message.body_of(form, kind, rfc3339(now) or "", data),
            "created_at": now,
            "next_at": now,
            "state": WAITING,
        }
        for pk, form in receivers
    ]
    if rows:
        transaction.connection.execute(insert(deliveries), rows)
        transaction.topics.add(TOPIC)


def claim(transaction: Transaction, seconds: float, limit: int, busy: Sequence[int]) -> list[Due]:
    """Returns deliveries that are due, one for each webhook, and keeps others from sending them.

    If this process dies, they are due again after `seconds`.
    """
    now = transaction.now
    is_due = (deliveries.c.state == WAITING) & (deliveries.c.next_at <= now)
    first = (
        select(func.min(deliveries.c.pk))
        .where(is_due, deliveries.c.webhook_pk.not_in(busy))
        .group_by(deliveries.c.webhook_pk)
        .limit(limit)
    )
    columns = (deliveries.c.pk, deliveries.c.id, deliveries.c.tries, deliveries.c.body)
    query = (
        select(*columns, webhooks.c.pk, webhooks.c.id, webhooks.c.url, webhooks.c.form)
        .join(webhooks, webhooks.c.pk == deliveries.c.webhook_pk)
        .where(deliveries.c.pk.in_(first))
    )
    claimed = []
    for row in transaction.connection.execute(query).all():
        due = Due(*row)
        change = (
            update(deliveries)
            .where(deliveries.c.pk == due.pk, is_due)
            .values(next_at=now + round(seconds * 1000), tries=due.tries + 1)
        )
        if transaction.connection.execute(change).rowcount:
            claimed.append(due._replace(tries=due.tries + 1))
    return claimed


def finish(
    transaction: Transaction, due: Due, outcome: str, error: str, retry_in: float | None
) -> None:
    """Stores the outcome of a try; with `retry_in` seconds there is another one."""
    is_over = retry_in is None
    transaction.connection.execute(
        update(deliveries)
        .where(deliveries.c.pk == due.pk)
        .values(
            state=outcome if is_over else WAITING,
            error=error[:256],
            next_at=transaction.now + round((retry_in or 0) * 1000),
            ended_at=transaction.now if is_over else None,
        )
    )


def next_due(transaction: Transaction) -> int | None:
    """Returns the milliseconds until the next delivery is due, None if there is none."""
    query = select(func.min(deliveries.c.next_at)).where(deliveries.c.state == WAITING)
    at: int | None = transaction.connection.execute(query).scalar_one()
    return None if at is None else max(0, at - transaction.now)


def latest(transaction: Transaction, webhook_pk: int) -> Sequence[Row[Any]]:
    """Returns the latest deliveries of a webhook, the newest first."""
    query = (
        select(deliveries)
        .where(deliveries.c.webhook_pk == webhook_pk)
        .order_by(deliveries.c.pk.desc())
        .limit(SHOWN)
    )
    return transaction.connection.execute(query).all()


def forget_old(transaction: Transaction) -> None:
    """Deletes deliveries that ended long ago."""
    before = transaction.now - KEPT_DAYS * 86_400_000
    transaction.connection.execute(delete(deliveries).where(deliveries.c.ended_at < before))
