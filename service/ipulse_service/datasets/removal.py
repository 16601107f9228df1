"""Deletes versions of data sets that no job needs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select, update

from ipulse_core.errors import Conflict
from ipulse_service.datasets.versions import VersionRow, topic
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import ENDED, dataset_samples, dataset_versions, datasets, jobs
from ipulse_service.db.version_states import DELETED, READY

NAMES = 20  # jobs that a message lists


class DatasetInUse(Conflict):
    """Jobs that are not over need the version: wait for them, or cancel them."""

    code = "in_use"


def remove(transaction: Transaction, found: Sequence[VersionRow]) -> set[str]:
    """Marks versions as deleted and returns their digests: all of them, or none.

    Raises NotPermitted and DatasetInUse.
    """
    for version in found:
        transaction.access.check_change(version.project, version.owner)
    for version in sorted(found, key=lambda version: version.sha256):
        # Against a submission that refers to the content; see `references.pin`.
        transaction.lock(content_lock(version.sha256))
        _check_unused(transaction, version)
    digests = set()
    for version in found:
        if version.state == DELETED:
            continue
        rows = dataset_samples.c.version_pk == version.pk
        transaction.connection.execute(delete(dataset_samples).where(rows))
        change = update(dataset_versions).where(dataset_versions.c.pk == version.pk)
        transaction.connection.execute(change.values(state=DELETED))
        transaction.audit("dataset.delete", version.reference, version.project)
        transaction.topics.add(topic(version.name))
        digests.add(version.sha256)
    return digests


def content_lock(sha256: str) -> str:
    """Returns the name to lock while a job begins to need a content, or its version goes."""
    return f"dataset-content/{sha256}"


def _check_unused(transaction: Transaction, version: VersionRow) -> None:
    if version.state != READY or _others(transaction, version):
        return  # no job can need it, or another version keeps the content
    query = (
        select(jobs.c.id)
        .where(jobs.c.dataset_sha256 == version.sha256, jobs.c.state.not_in(ENDED))
        .where(jobs.c.project == version.project)
        .order_by(jobs.c.pk)
    )
    needing = list(transaction.connection.execute(query).scalars())
    if needing:
        more = f" and {len(needing) - NAMES} others" if len(needing) > NAMES else ""
        raise DatasetInUse(
            f"{version.reference} is needed by jobs that are not over: "
            f"{', '.join(needing[:NAMES])}{more}; wait for them, or cancel them"
        )


def _others(transaction: Transaction, version: VersionRow) -> bool:
    """Return whether another version of the project that is ready has the same content."""
    query = (
        select(dataset_versions.c.pk)
        .join(datasets, datasets.c.pk == dataset_versions.c.dataset_pk)
        .where(dataset_versions.c.sha256 == version.sha256, dataset_versions.c.state == READY)
        .where(datasets.c.project == version.project)
        .where(dataset_versions.c.pk != version.pk)
        .limit(1)
    )
    return transaction.connection.execute(query).first() is not None
