"""Data sets and their versions: the rows, and how they change."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, func, insert, select, update

from ipulse_core.errors import NotFound
from ipulse_core.quotas import Quota
from ipulse_service.datasets.facts import DatasetCheck, DatasetFacts
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import dataset_samples, dataset_versions, datasets, jobs
from ipulse_service.db.version_states import CHECKING, DELETED, READY, REFUSED
from ipulse_service.quotas import store as quotas

LATEST = "latest"
CHECK_TOPIC = "dataset-checks"  # a version waits for its check
CLAIM_MS = 30_000  # a replica that checks says so more often
MAX_CHECKS = 5  # of one version, when each was killed or ended with the service

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class VersionRow:
    """The row of a version with the name of its data set. Times are milliseconds since 1970."""

    pk: int
    name: str
    number: int
    sha256: str
    size: int
    state: str
    kind: str | None
    refusal: str | None
    facts: str | None  # JSON
    created_at: int
    checked_at: int | None
    checks: int  # that have begun
    project: str
    owner: str  # who may change the data set

    @classmethod
    def of(cls, row: Row[Any]) -> VersionRow:
        """Makes a version of a row."""
        return cls(**{name: getattr(row, name) for name in cls.__dataclass_fields__})

    @property
    def reference(self) -> str:
        """The version as specs may name it."""
        return f"{self.name}@{self.number}"

    @property
    def parsed_facts(self) -> DatasetFacts | None:
        """The facts, once the version is ready."""
        return None if self.facts is None else DatasetFacts.model_validate(json.loads(self.facts))


SELECTION = select(dataset_versions, datasets.c.name, datasets.c.project, datasets.c.owner).join(
    datasets, datasets.c.pk == dataset_versions.c.dataset_pk
)


def _named(transaction: Transaction, name: str) -> ColumnElement[bool]:
    """Returns the condition that a data set is the one that the caller means by a name.

    Of several projects, that of the request comes first.
    """
    access = transaction.access
    in_project = datasets.c.project == access.preferred_project
    query = select(datasets.c.pk).where(datasets.c.name == name, access.where(datasets))
    query = query.order_by(in_project.desc(), datasets.c.pk).limit(1)
    return datasets.c.pk == query.correlate(None).scalar_subquery()


def topic(name: str) -> str:
    """Returns the topic of changes of a data set's versions."""
    return f"dataset/{name}"


def add(
    transaction: Transaction, name: str, sha256: str, size: int, token: str
) -> tuple[VersionRow, bool]:
    """Adds a version that waits for its check; returns it and whether it is new.

    If the latest version has the same content, it is returned.
    """
    transaction.lock(topic(name))
    access = transaction.access
    query = select(datasets.c.pk, datasets.c.last_version, datasets.c.owner)
    query = query.where(datasets.c.name == name, datasets.c.project == access.project)
    dataset = transaction.connection.execute(query).one_or_none()
    now = transaction.now
    owner = access.name if dataset is None else dataset.owner
    if dataset is None:
        quotas.check(transaction, Quota.DATASETS, access.project, owner)
        new = insert(datasets).values(
            name=name, last_version=1, created_at=now, **access.ownership()
        )
        dataset_pk = transaction.connection.execute(new.returning(datasets.c.pk)).scalar_one()
        number = 1
    else:
        access.check_change(access.project, dataset.owner)
        dataset_pk, number = dataset.pk, dataset.last_version + 1
        latest = _latest(transaction, name)
        if latest is not None and latest.sha256 == sha256 and latest.state != REFUSED:
            return latest, False
        change = update(datasets).where(datasets.c.pk == dataset_pk).values(last_version=number)
        transaction.connection.execute(change)
    quotas.check(transaction, Quota.CHECKS, access.project, owner)
    quotas.check(transaction, Quota.BYTES, access.project, owner, size)
    values = {
        "dataset_pk": dataset_pk,
        "number": number,
        "sha256": sha256,
        "size": size,
        "state": CHECKING,
        "created_at": now,
        "token": token,
    }
    transaction.connection.execute(insert(dataset_versions).values(values))
    transaction.audit("dataset.push", f"{name}@{number}", access.project, f"sha256:{sha256}")
    transaction.topics.update((topic(name), CHECK_TOPIC))
    return get(transaction, name, str(number)), True


def get(transaction: Transaction, name: str, number: str) -> VersionRow:
    """Returns a version by its number or as the latest one. Raises NotFound."""
    found = None
    if number == LATEST:
        found = _latest(transaction, name)
    elif _NUMBER.fullmatch(number):
        query = SELECTION.where(_named(transaction, name), dataset_versions.c.number == int(number))
        row = transaction.connection.execute(query).one_or_none()
        found = None if row is None else VersionRow.of(row)
    if found is None:
        raise NotFound(f"there is no version {number[:20]} of {name[:128]}; see `ipulse data show`")
    return found


def find_all(transaction: Transaction, name: str) -> list[VersionRow]:
    """Returns all versions of a data set that may not exist, the newest first."""
    query = SELECTION.where(_named(transaction, name)).order_by(dataset_versions.c.number.desc())
    return [VersionRow.of(row) for row in transaction.connection.execute(query)]


def of_dataset(transaction: Transaction, name: str) -> list[VersionRow]:
    """Returns all versions of a data set, the newest first. Raises NotFound."""
    found = find_all(transaction, name)
    if not found:
        raise NotFound(f"there is no data set {name[:128]}; `ipulse data list` shows all")
    return found


def by_digest(transaction: Transaction, sha256: str) -> VersionRow | None:
    """Returns a version with this content that is ready."""
    query = SELECTION.where(
        dataset_versions.c.sha256 == sha256,
        dataset_versions.c.state == READY,
        transaction.access.where(datasets),
    ).limit(1)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else VersionRow.of(row)


def with_content(transaction: Transaction, sha256: str) -> VersionRow | None:
    """Returns a version with this content in any state: jobs keep the content of deleted ones."""
    query = SELECTION.where(dataset_versions.c.sha256 == sha256).limit(1)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else VersionRow.of(row)


def latest_ready(transaction: Transaction, name: str) -> VersionRow | None:
    """Returns the latest version of a data set that jobs may use."""
    query = (
        SELECTION.where(_named(transaction, name), dataset_versions.c.state == READY)
        .order_by(dataset_versions.c.number.desc())
        .limit(1)
    )
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else VersionRow.of(row)


def job_count(transaction: Transaction, sha256: str) -> int:
    """Returns how many jobs use a content, those that are over too."""
    query = select(func.count()).where(jobs.c.dataset_sha256 == sha256)
    query = query.where(transaction.access.where(jobs))
    return transaction.connection.execute(query).scalar_one()


def has_unchecked(transaction: Transaction) -> bool:
    """Returns whether a version waits for its check, or is being checked."""
    query = select(dataset_versions.c.pk).where(dataset_versions.c.state == CHECKING).limit(1)
    return transaction.connection.execute(query).first() is not None


def renew(transaction: Transaction, pk: int) -> None:
    """Marks a version as still being checked."""
    change = update(dataset_versions).where(dataset_versions.c.pk == pk)
    transaction.connection.execute(change.values(claimed_at=transaction.now))


def give_up(transaction: Transaction, pk: int, is_free: bool) -> None:
    """Lets a check not count. Another one may follow now if it `is_free`, else after the claim."""
    change = update(dataset_versions).where(dataset_versions.c.pk == pk)
    transaction.connection.execute(change.values(checks=dataset_versions.c.checks - 1))
    if is_free:
        transaction.connection.execute(change.values(claimed_at=None))
    else:
        stop(transaction, pk)


def stop(transaction: Transaction, pk: int) -> None:
    """Ends a check without a result: another one follows after the claim, and others first."""
    change = update(dataset_versions).where(dataset_versions.c.pk == pk)
    transaction.connection.execute(change.values(checked_at=transaction.now))


def finish_check(transaction: Transaction, version: VersionRow, result: DatasetCheck) -> None:
    """Stores the result of a check, unless the version was deleted or checked meanwhile."""
    is_ready = result.facts is not None
    values = {
        "state": READY if is_ready else REFUSED,
        "kind": result.kind,
        "facts": result.facts.model_dump_json() if result.facts is not None else None,
        "refusal": result.refusal,
        "checked_at": transaction.now,
        "claimed_at": None,
    }
    change = update(dataset_versions).where(
        dataset_versions.c.pk == version.pk, dataset_versions.c.state == CHECKING
    )
    if not transaction.connection.execute(change.values(values)).rowcount:
        return
    rows = [
        {"version_pk": version.pk, "sample": each.sample, "body": each.model_dump_json()}
        for each in result.previews
    ]
    if rows:
        transaction.connection.execute(insert(dataset_samples), rows)
    transaction.topics.add(topic(version.name))


def _latest(transaction: Transaction, name: str) -> VersionRow | None:
    query = (
        SELECTION.where(_named(transaction, name), dataset_versions.c.state != DELETED)
        .order_by(dataset_versions.c.number.desc())
        .limit(1)
    )
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else VersionRow.of(row)
