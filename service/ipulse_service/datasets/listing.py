"""The list of data sets, by name."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select

from ipulse_service.datasets.versions import VersionRow
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import dataset_versions, datasets
from ipulse_service.db.version_states import DELETED


@dataclass(frozen=True)
class DatasetRow:
    """A data set, how many versions it has, and the latest of them."""

    pk: int
    name: str
    created_at: int  # milliseconds since 1970
    versions: int
    latest: VersionRow


def page(transaction: Transaction, before: int | None, limit: int) -> list[DatasetRow]:
    """Returns the newest data sets with a version that the caller may read, before `before`."""
    query = (
        select(
            datasets.c.pk,
            datasets.c.created_at,
            func.count().label("versions"),
            func.max(dataset_versions.c.number).label("last"),
        )
        .join(dataset_versions, dataset_versions.c.dataset_pk == datasets.c.pk)
        .where(dataset_versions.c.state != DELETED, transaction.access.where(datasets))
        .group_by(datasets.c.pk, datasets.c.created_at)
        .order_by(datasets.c.pk.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(datasets.c.pk < before)
    found = query.subquery()
    latest = (
        select(
            dataset_versions,
            datasets.c.name,
            datasets.c.project,
            datasets.c.owner,
            found.c.versions,
            found.c.created_at.label("dataset_created_at"),
        )
        .join(datasets, datasets.c.pk == dataset_versions.c.dataset_pk)
        .join(found, found.c.pk == datasets.c.pk)
        .where(dataset_versions.c.number == found.c.last)
        .order_by(datasets.c.pk.desc())
    )
    return [
        DatasetRow(
            row.dataset_pk, row.name, row.dataset_created_at, row.versions, VersionRow.of(row)
        )
        for row in transaction.connection.execute(latest)
    ]
