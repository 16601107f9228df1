"""Quotas: limits of projects and people, which those who may set them change.

A quota is of a project (all its members together), of a person in a project, or of a person in all
projects; each applies by itself. There is no limit where none is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Table, bindparam, delete, func, insert, select, true

from ipulse_core.errors import Conflict, InvalidInput, Problem
from ipulse_core.quotas import Quota
from ipulse_core.states import JobState
from ipulse_service.db import people
from ipulse_service.db.access import Action
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import (
    artifacts,
    dataset_versions,
    datasets,
    jobs,
    quotas,
    uploads,
)
from ipulse_service.db.tables import usage as usage_table
from ipulse_service.db.version_states import CHECKING
from ipulse_service.db.version_states import DELETED as VERSION_DELETED
from ipulse_service.quotas import usage

ANY = ""  # in a scope: all projects, or all members


class QuotaExceeded(Conflict):
    """A quota of the project or of its owner does not allow it."""

    code = "quota_exceeded"


@dataclass(frozen=True)
class Scope:
    """The jobs and data that a quota counts: of a project, of a person there, or of a person."""

    project: str = ANY
    principal: str = ANY

    def matches(self, table: Table) -> ColumnElement[bool]:
        """Returns the condition that a row counts."""
        condition: ColumnElement[bool] = true()
        if self.project:
            condition &= table.c.project == self.project
        if self.principal:
            condition &= table.c["caller" if table is uploads else "owner"] == self.principal
        return condition

    def includes(self, project: str, owner: str) -> bool:
        """Returns whether it counts what an owner has in a project."""
        return self.project in (ANY, project) and self.principal in (ANY, owner)

    def __str__(self) -> str:
        if not self.principal:
            return f"the project {self.project}"
        return self.principal + (f" in the project {self.project}" if self.project else "")

    @property
    def command(self) -> str:
        """The command that changes its quotas."""
        if not self.project:
            return f"ipulse user quota {self.principal}"
        person = f" --user {self.principal}" if self.principal else ""
        return f"ipulse project quota {self.project}{person}"


EVERYBODY = Scope()
_KEY = ("project", "principal", "name")

Limits = dict[Scope, dict[Quota, int]]

_ALL = select(quotas.c.project, quotas.c.principal, quotas.c.name, quotas.c.value)
_OF = _ALL.where(
    quotas.c.project.in_((bindparam("of_project"), ANY)),
    quotas.c.principal.in_((bindparam("of_principal"), ANY)),
)


def read_all(transaction: Transaction) -> Limits:
    """Returns all limits."""
    return _limits(transaction.connection.execute(_ALL))


def limits_of(transaction: Transaction, project: str, owner: str) -> Limits:
    """Returns the limits of what an owner has in a project, read once in a transaction."""
    found: Limits | None = transaction.quotas.get((project, owner))
    if found is None:
        values = {"of_project": project, "of_principal": owner}
        found = _limits(transaction.connection.execute(_OF, values))
        transaction.quotas[project, owner] = found
    return found


def of_project(transaction: Transaction, project: str) -> Limits:
    """Returns the limits of a project that the caller may read. Raises NotFound."""
    people.get_project(transaction, project)
    return _limits(transaction.connection.execute(_ALL.where(quotas.c.project == project)))


def of_user(transaction: Transaction, name: str) -> Limits:
    """Returns the limits of a person in all projects. Raises NotFound."""
    people.get_principal(transaction, name)
    query = _ALL.where(quotas.c.project == ANY, quotas.c.principal == name)
    return _limits(transaction.connection.execute(query))


def change(transaction: Transaction, scope: Scope, changes: Mapping[Quota, int | None]) -> None:
    """Sets limits, and removes those that are None.

    Administrators set all; owners of a project those of its members. Raises NotFound, NotPermitted.
    """
    access = transaction.access
    if scope.project:
        people.get_project(transaction, scope.project)
        access.check(Action.MANAGE_MEMBERS, scope.project)
    if not (scope.project and scope.principal):
        access.check_admin("the quota of " + str(scope))
    if scope.principal:
        people.get_principal(transaction, scope.principal)
    if not scope.project and Quota.SHARE in changes:
        detail = "a person has a share in a project: name it"
        raise InvalidInput([Problem("/limits/share", "inconsistent", detail)])
    transaction.lock("quotas")
    this = (quotas.c.project == scope.project, quotas.c.principal == scope.principal)
    for name, value in changes.items():
        transaction.connection.execute(delete(quotas).where(*this, quotas.c.name == name.value))
        if value is not None:
            row = dict(zip(_KEY, (scope.project, scope.principal, name.value), strict=True))
            transaction.connection.execute(insert(quotas), {**row, "value": value})
    detail = ", ".join(
        f"{name.value}: {'none' if value is None else value}"
        for name, value in sorted(changes.items())
    )
    transaction.quotas.clear()
    transaction.audit("quota.set", scope.principal or scope.project, scope.project or None, detail)


def check(transaction: Transaction, name: Quota, project: str, owner: str, more: int = 1) -> None:
    """Raises QuotaExceeded if an owner may not have so many more of something in a project."""
    for scope, limits in limits_of(transaction, project, owner).items():
        limit = limits.get(name)
        if limit is None:
            continue
        key = (scope, name)
        if key not in transaction.quota_used:
            transaction.lock(f"quota/{scope.project}/{scope.principal}")
            transaction.quota_used[key] = used(transaction, scope, name)
        has = transaction.quota_used[key]
        if has + more > limit:
            raise QuotaExceeded(
                f"{scope} may have {limit:,} {_WORDS[name]} and has {has:,}; this would be "
                f"{more:,} more: {_FIXES[name]}, or ask for a greater quota "
                f"(`{scope.command} --set {name.value}=N`)"
            )
        transaction.quota_used[key] = has + more


def has_room(transaction: Transaction, project: str, owner: str, more: int) -> bool:
    """Returns whether an owner may queue so many more jobs in a project now."""
    for scope, limits in limits_of(transaction, project, owner).items():
        for name, wanted in ((Quota.QUEUED_JOBS, more), (Quota.BYTES, 0)):
            if name in limits and (used(transaction, scope, name) or 0) + wanted > limits[name]:
                return False
    return True


def allowed_priority(transaction: Transaction, project: str, owner: str, priority: int) -> int:
    """Returns a priority, or the highest that is allowed."""
    limits = limits_of(transaction, project, owner).values()
    return min(priority, *(each.get(Quota.PRIORITY, priority) for each in limits), priority)


def check_priority(
    transaction: Transaction, project: str, owner: str, priority: int, pointer: str
) -> None:
    """Raises InvalidInput for a priority above the highest that is allowed."""
    for scope, limits in limits_of(transaction, project, owner).items():
        highest = limits.get(Quota.PRIORITY)
        if highest is not None and priority > highest:
            detail = (
                f"the highest priority of {scope} is {highest}; got {priority}: use a lower one, "
                f"or ask for a greater quota (`{scope.command} --set priority=N`)"
            )
            raise InvalidInput([Problem(pointer, "quota_exceeded", detail)])


def with_used(
    transaction: Transaction, limits: Limits
) -> list[tuple[Scope, Quota, int, int | None]]:
    """Returns limits in order, each with how much of it is used."""
    return [
        (scope, name, of_scope[name], used(transaction, scope, name))
        for scope, of_scope in sorted(limits.items(), key=lambda item: str(item[0]))
        for name in Quota
        if name in of_scope
    ]


def used(transaction: Transaction, scope: Scope, name: Quota) -> int | None:
    """Returns how much of a quota is used, None for one that is no amount."""
    count = _USED.get(name)
    return None if count is None else count(transaction, scope)


def used_seconds(transaction: Transaction, scope: Scope) -> int:
    """Returns the device seconds of this month, with those of attempts that run."""
    now = transaction.now
    month = usage.month_of(now)
    query = select(func.coalesce(func.sum(usage_table.c.device_ms), 0)).where(
        usage_table.c.month == month, scope.matches(usage_table)
    )
    ended = int(transaction.connection.execute(query).scalar_one())
    runs = (
        row.devices * max(0, now - row.started_at)
        for row in usage.running(transaction)
        if scope.includes(row.project, row.owner)
    )
    return round((ended + int(sum(runs))) / 1000)


def _limits(rows: Iterable[Any]) -> Limits:
    found: Limits = {}
    for project, principal, name, value in rows:
        found.setdefault(Scope(project, principal), {})[Quota(name)] = value
    return found


def _queued(transaction: Transaction, scope: Scope) -> int:
    waiting = (JobState.QUEUED.value, JobState.BLOCKED.value, JobState.RETRY_WAIT.value)
    query = select(func.count()).select_from(jobs)
    query = query.where(jobs.c.state.in_(waiting), scope.matches(jobs))
    return transaction.connection.execute(query).scalar_one()


def _devices(transaction: Transaction, scope: Scope) -> int:
    runs = usage.running(transaction)
    return sum(row.devices for row in runs if scope.includes(row.project, row.owner))


def _bytes(transaction: Transaction, scope: Scope) -> int:
    of_jobs = (
        select(func.coalesce(func.sum(artifacts.c.size), 0))
        .join(jobs, jobs.c.pk == artifacts.c.job_pk)
        .where(scope.matches(jobs))
    )
    of_data = (
        select(func.coalesce(func.sum(dataset_versions.c.size), 0))
        .join(datasets, datasets.c.pk == dataset_versions.c.dataset_pk)
        .where(scope.matches(datasets), dataset_versions.c.state != VERSION_DELETED)
    )
    execute = transaction.connection.execute
    return int(execute(of_jobs).scalar_one()) + int(execute(of_data).scalar_one())


def _datasets(transaction: Transaction, scope: Scope) -> int:
    query = (
        select(func.count(func.distinct(datasets.c.pk)))
        .join(dataset_versions, dataset_versions.c.dataset_pk == datasets.c.pk)
        .where(scope.matches(datasets), dataset_versions.c.state != VERSION_DELETED)
    )
    return transaction.connection.execute(query).scalar_one()


def _uploads(transaction: Transaction, scope: Scope) -> int:
    query = select(func.count()).select_from(uploads)
    query = query.where(scope.matches(uploads), uploads.c.completed_at.is_(None))
    query = query.where(uploads.c.expires_at > transaction.now)
    return transaction.connection.execute(query).scalar_one()


def _checks(transaction: Transaction, scope: Scope) -> int:
    query = (
        select(func.count())
        .select_from(dataset_versions)
        .join(datasets, datasets.c.pk == dataset_versions.c.dataset_pk)
        .where(scope.matches(datasets), dataset_versions.c.state == CHECKING)
    )
    return transaction.connection.execute(query).scalar_one()


_USED = {
    Quota.QUEUED_JOBS: _queued,
    Quota.DEVICES: _devices,
    Quota.DEVICE_SECONDS: used_seconds,
    Quota.BYTES: _bytes,
    Quota.DATASETS: _datasets,
    Quota.UPLOADS: _uploads,
    Quota.CHECKS: _checks,
}
_WORDS = {
    Quota.QUEUED_JOBS: "queued jobs",
    Quota.BYTES: "bytes of stored files",
    Quota.DATASETS: "data sets",
    Quota.UPLOADS: "unfinished uploads",
    Quota.CHECKS: "data sets that are being checked",
}
_FIXES = {
    Quota.QUEUED_JOBS: "wait until some have started, or cancel some",
    Quota.BYTES: "delete jobs or versions of data sets that are not needed",
    Quota.DATASETS: "delete one that is not needed",
    Quota.UPLOADS: "finish or delete one",
    Quota.CHECKS: "wait until one has been checked",
}
