"""Webhooks: who is told of the ends of jobs, and in which form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from ipulse_core import ids
from ipulse_core.errors import Conflict, NotFound
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import deliveries, webhooks
from ipulse_service.news import message, outbox

MAX_WEBHOOKS = 100


@dataclass(frozen=True)
class Webhook:
    """A stored webhook. Times are milliseconds since 1970."""

    pk: int
    id: str
    name: str
    url: str
    form: str
    types: tuple[str, ...]
    is_on: bool
    reason: str  # why it is off
    created_at: int


def create(
    transaction: Transaction, name: str, url: str, form: str, types: tuple[str, ...]
) -> Webhook:
    """Adds a webhook. Raises Conflict if there are too many."""
    count = transaction.connection.execute(select(func.count()).select_from(webhooks)).scalar_one()
    if count >= MAX_WEBHOOKS:
        raise Conflict(f"there are {MAX_WEBHOOKS} webhooks: delete one first")
    row = {
        "id": ids.new_id(ids.WEBHOOK),
        "name": name,
        "url": url,
        "form": form,
        "types": " ".join(types),
        "is_on": True,
        "reason": "",
        "created_at": transaction.now,
    }
    transaction.connection.execute(insert(webhooks).values(row))
    transaction.audit("webhook.create", str(row["id"]), None, f"format: {form}")
    return get(transaction, str(row["id"]))


def listed(transaction: Transaction) -> list[Webhook]:
    """Returns all webhooks, the newest first."""
    query = select(webhooks).order_by(webhooks.c.pk.desc())
    return [_webhook(row) for row in transaction.connection.execute(query)]


def get(transaction: Transaction, webhook_id: str) -> Webhook:
    """Returns a webhook. Raises NotFound."""
    query = select(webhooks).where(webhooks.c.id == webhook_id)
    row = transaction.connection.execute(query).one_or_none()
    if row is None:
        raise NotFound("there is no such webhook")
    return _webhook(row)


def remove(transaction: Transaction, webhook_id: str) -> None:
    """Deletes a webhook and what it was to get. Raises NotFound."""
    webhook = get(transaction, webhook_id)
    for table, column in ((deliveries, deliveries.c.webhook_pk), (webhooks, webhooks.c.pk)):
        transaction.connection.execute(delete(table).where(column == webhook.pk))
    transaction.audit("webhook.delete", webhook_id)


def switch(transaction: Transaction, webhook_pk: int, is_on: bool, reason: str = "") -> None:
    """Switches a webhook on or off; deliveries that wait for one that is off have failed."""
    change = update(webhooks).where(webhooks.c.pk == webhook_pk)
    transaction.connection.execute(change.values(is_on=is_on, reason=reason))
    if not is_on:
        waiting = (deliveries.c.webhook_pk == webhook_pk) & (deliveries.c.state == outbox.WAITING)
        values = {"state": outbox.FAILED, "error": reason[:256], "ended_at": transaction.now}
        transaction.connection.execute(update(deliveries).where(waiting).values(values))


def test(transaction: Transaction, webhook: Webhook) -> None:
    """Sends a test, also to a webhook that was switched off, which is on then."""
    if not webhook.is_on:
        switch(transaction, webhook.pk, True)
    outbox.add(transaction, [(webhook.pk, webhook.form)], message.TEST, {})
    transaction.audit("webhook.test", webhook.id)


def _webhook(row: Any) -> Webhook:
    values = {name: getattr(row, name) for name in Webhook.__dataclass_fields__}
    return Webhook(**{**values, "types": tuple(row.types.split())})
