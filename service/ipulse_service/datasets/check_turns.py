"""The order of checks of data sets: tokens take turns."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import func, select, update

from ipulse_service.datasets import versions
from ipulse_service.datasets.versions import VersionRow
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import dataset_versions
from ipulse_service.db.version_states import CHECKING


def claim(transaction: Transaction) -> VersionRow | None:
    """Returns the next version that waits for its check, and counts this check.

    One version of each token is checked at a time. The next token is the one whose latest check
    ended the longest ago; of its versions, the oldest one comes first.
    """
    transaction.lock(versions.CHECK_TOPIC)
    columns = dataset_versions.c
    is_claimed = columns.claimed_at >= transaction.now - versions.CLAIM_MS
    is_free = columns.claimed_at.is_(None) | ~is_claimed
    token = func.coalesce(columns.token, "")
    is_running = columns.claimed_at > func.coalesce(columns.checked_at, 0)
    busy = select(token).where(columns.state == CHECKING, is_claimed, is_running)
    others = dataset_versions.alias()
    latest = (
        select(func.max(others.c.checked_at))
        .where(func.coalesce(others.c.token, "") == token)
        .correlate(dataset_versions)
        .scalar_subquery()
    )
    query = (
        versions.SELECTION.where(columns.state == CHECKING, is_free, token.not_in(busy))
        .order_by(func.coalesce(latest, 0), columns.pk)
        .limit(1)
    )
    row = transaction.connection.execute(query).one_or_none()
    if row is None:
        return None
    change = update(dataset_versions).where(dataset_versions.c.pk == row.pk)
    counted = change.values(claimed_at=transaction.now, checks=row.checks + 1)
    transaction.connection.execute(counted)
    return replace(VersionRow.of(row), checks=row.checks + 1)
