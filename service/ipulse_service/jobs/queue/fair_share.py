"""Whose turn it is: jobs in the order of priority, then of what their owners have used.

The ratio of a project is the device time that its jobs have used, of which half is forgotten after
a half-life, divided by its share; the ratio of an owner is the same within the project. Of jobs
with the same priority, those of the project with the smallest ratio come first, then those of the
owner with the smallest one, then those that were queued first.

Nothing here reads the database but `read`.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from sqlalchemy import select

from ipulse_core.quotas import Quota
from ipulse_service.agents import pools
from ipulse_service.agents.needs import Needs
from ipulse_service.agents.pools import Pool
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import fair_usage
from ipulse_service.jobs.job import JobRow
from ipulse_service.quotas import store as quotas
from ipulse_service.quotas import usage
from ipulse_service.quotas.store import EVERYBODY, Limits, Scope
from ipulse_service.quotas.usage import RunningAttempt

# A running attempt counts as if it had run for so long, so that agents which become free at the
# same time do not all get jobs of the same owner.
ENTRY_MS = 600_000

Account = tuple[str, str]  # project and owner
_FAIR = select(fair_usage.c.project, fair_usage.c.owner, fair_usage.c.device_ms, fair_usage.c.at)


class QueuedJob(NamedTuple):
    """A queued job: what its place depends on, and what it needs."""

    priority: int
    queued_at: int
    pk: int
    device: str
    ipus: int
    data_set: str | None
    starts: bool
    requires: str | None
    pool: str
    state_since: int
    project: str
    owner: str
    run_seconds: int | None = None

    @property
    def needs(self) -> Needs:
        """The needs of the job."""
        return Needs(self.device, self.ipus, self.data_set, self.starts, self.requires, self.pool)

    @property
    def place(self) -> tuple[int, int, int]:
        """Its place among the jobs of its owner; a smaller one comes first."""
        return (-self.priority, self.queued_at, self.pk)


Queued = QueuedJob | JobRow
Key = tuple[int, float, float, int, int]  # the smallest comes first


@dataclass(frozen=True)
class Obstacle:
    """Why a job may not start now although a device may be free. Times are ms since 1970."""

    reason: Literal["quota", "pool", "reservation", "gang"]
    detail: str  # a sentence with the figures
    until: int | None = None  # when it ends; None: not known
    is_for_all: bool = True  # no job of this owner may start now, however small it is
    scope: Scope = EVERYBODY  # it ends when one of its jobs does


def _of_quota(scope: Scope, name: Quota, limit: int, used: int, until: int | None) -> Obstacle:
    what = "devices at once" if name is Quota.DEVICES else "device seconds a month"
    detail = f"{scope} may use {limit:,} {what} and uses {used:,} now (`{scope.command}`)"
    is_for_all = name is Quota.DEVICE_SECONDS or used >= limit
    return Obstacle("quota", detail, until, is_for_all, scope)


@dataclass
class Standing:
    """What owners have used and what they may use, at one moment; `charge` plays it forward."""

    now: int
    is_fair: bool = True  # else only priority and time count
    used_ms: dict[Account, float] = field(default_factory=dict)
    project_ms: dict[str, float] = field(default_factory=dict)
    limits: Limits = field(default_factory=dict)
    devices: dict[Account, int] = field(default_factory=dict)  # in use
    month_seconds: Mapping[Scope, int] = field(default_factory=dict)
    next_month: int = 0
    pools: Mapping[str, Pool] = field(default_factory=dict)
    running: Sequence[RunningAttempt] = ()

    def key(self, job: Queued) -> Key:
        """Returns the key of the one order of all queued jobs."""
        project, owner = self.ratios(job.project, job.owner)
        return (-job.priority, project, owner, job.queued_at, job.pk)

    def copy(self) -> Standing:
        """Returns one that may be charged instead of this one."""
        return replace(
            self,
            used_ms=dict(self.used_ms),
            project_ms=dict(self.project_ms),
            devices=dict(self.devices),
        )

    def ratios(self, project: str, owner: str) -> tuple[float, float]:
        """Returns the device time over the share, of a project and of an owner in it."""
        if not self.is_fair:
            return 0.0, 0.0
        whole = _over(self.project_ms.get(project, 0.0), self.share(Scope(project)))
        own = _over(self.used_ms.get((project, owner), 0.0), self.share(Scope(project, owner)))
        return whole, own

    def share(self, scope: Scope) -> int:
        """Returns a share."""
        return self.limits.get(scope, {}).get(Quota.SHARE, 1)

    def charge(self, job: Queued, device_ms: float) -> None:
        """Adds device time to what the owner of a job has used."""
        account = job.project, job.owner
        self.used_ms[account] = self.used_ms.get(account, 0.0) + device_ms
        self.project_ms[job.project] = self.project_ms.get(job.project, 0.0) + device_ms

    def start(self, job: Queued) -> None:
        """Notes that a job uses its devices."""
        account = job.project, job.owner
        self.devices[account] = self.devices.get(account, 0) + usage.devices_of(job.ipus)
        self.charge(job, usage.devices_of(job.ipus) * ENTRY_MS)

    def obstacle(self, job: Queued) -> Obstacle | None:
        """Returns why a job may not start now on any agent, if that is so."""
        pool = self.pools.get(job.pool)
        if pool is not None and not pool.allows(job.project):
            detail = (
                f"the project {job.project} may not use the pool {job.pool} any more: ask an "
                "administrator, or clone the job with another device.pool"
            )
            return Obstacle("pool", detail)
        for scope in _scopes(job.project, job.owner):
            limits = self.limits.get(scope)
            if not limits:
                continue
            seconds = limits.get(Quota.DEVICE_SECONDS)
            if seconds is not None and self.month_seconds.get(scope, 0) >= seconds:
                used = self.month_seconds.get(scope, 0)
                return _of_quota(scope, Quota.DEVICE_SECONDS, seconds, used, self.next_month)
            most = limits.get(Quota.DEVICES)
            if most is not None:
                busy = self.busy(scope)
                if busy + usage.devices_of(job.ipus) > most:
                    return _of_quota(scope, Quota.DEVICES, most, busy, None)
        return None

    def is_full(self, job: Queued) -> bool:
        """Returns whether no job of its owner may start now, however small it is."""
        obstacle = self.obstacle(job)
        return obstacle is not None and obstacle.is_for_all

    def busy(self, scope: Scope) -> int:
        """Returns how many devices jobs use now."""
        return sum(devices for account, devices in self.devices.items() if scope.includes(*account))

    def in_order(self, entries: Iterable[QueuedJob]) -> Iterator[QueuedJob]:
        """Yields queued jobs in the order in which they would start one after another.

        Each is charged as one that starts.
        """
        by_priority: dict[int, dict[str, dict[str, list[QueuedJob]]]] = {}
        for entry in entries:
            of_project = by_priority.setdefault(entry.priority, {}).setdefault(entry.project, {})
            of_project.setdefault(entry.owner, []).append(entry)
        for _, projects in sorted(by_priority.items(), reverse=True):
            yield from self._of_priority(projects)

    def _of_priority(self, projects: dict[str, dict[str, list[QueuedJob]]]) -> Iterator[QueuedJob]:
        queues = {
            (project, owner): deque(sorted(jobs, key=_first_come))
            for project, owners in projects.items()
            for owner, jobs in owners.items()
        }
        waiting: dict[str, list[tuple[float, int, int, str]]] = {name: [] for name in projects}
        for (project, owner), queue in queues.items():
            heapq.heappush(waiting[project], self._owner_key(project, owner, queue[0]))
        turns = [(*self._project_key(name, heap[0]), name) for name, heap in waiting.items()]
        heapq.heapify(turns)
        while turns:
            *_, project = heapq.heappop(turns)
            owners = waiting[project]
            *_, owner = heapq.heappop(owners)
            queue = queues[project, owner]
            job = queue.popleft()
            yield job
            self.charge(job, usage.devices_of(job.ipus) * ENTRY_MS)
            if queue:
                heapq.heappush(owners, self._owner_key(project, owner, queue[0]))
            if owners:
                heapq.heappush(turns, (*self._project_key(project, owners[0]), project))

    def _owner_key(self, project: str, owner: str, job: QueuedJob) -> tuple[float, int, int, str]:
        return (self.ratios(project, owner)[1], job.queued_at, job.pk, owner)

    def _project_key(
        self, project: str, first: tuple[float, int, int, str]
    ) -> tuple[float, float, int, int]:
        return (self.ratios(project, first[3])[0], *first[:3])

    def explain(self, project: str, owner: str) -> str:
        """Returns a sentence with what an owner and its project have used, and their shares."""
        shares = {name: self.share(Scope(name)) for name in {project, *self.project_ms}}
        part = _part(shares[project], shares.values())
        used = _part(self.project_ms.get(project, 0.0), self.project_ms.values())
        text = f"the project {project} has used {used:.0%} of the recent device time, and its "
        text += f"share is {part:.0%}"
        owners = {who: ms for (name, who), ms in self.used_ms.items() if name == project}
        if len(owners.keys() | {owner}) > 1:
            text += (
                f"; {owner} has used {_part(owners.get(owner, 0.0), owners.values()):.0%} of that"
            )
        return text


def read(transaction: Transaction) -> Standing:
    """Returns how owners stand now."""
    now, half_life = transaction.now, transaction.usage_half_life_ms
    standing = Standing(
        now,
        half_life > 0,
        limits=quotas.read_all(transaction),
        pools=pools.read_all(transaction),
        running=usage.running(transaction),
    )
    for project, owner, device_ms, at in transaction.connection.execute(_FAIR):
        left = usage.decayed(device_ms, now - at, half_life)
        standing.used_ms[project, owner] = left
        standing.project_ms[project] = standing.project_ms.get(project, 0.0) + left
    for row in standing.running:
        account = row.project, row.owner
        spent = row.devices * max(now - row.started_at, ENTRY_MS)
        standing.used_ms[account] = standing.used_ms.get(account, 0.0) + spent
        standing.project_ms[row.project] = standing.project_ms.get(row.project, 0.0) + spent
        standing.devices[account] = standing.devices.get(account, 0) + row.devices
    timed = [scope for scope, each in standing.limits.items() if Quota.DEVICE_SECONDS in each]
    if timed:
        standing.month_seconds = {scope: quotas.used_seconds(transaction, scope) for scope in timed}
        standing.next_month = usage.next_month(now)
    return standing


def has_limits(standing: Standing) -> bool:
    """Returns whether a quota could be exceeded by claims at the same time."""
    return any(
        {Quota.DEVICES, Quota.DEVICE_SECONDS} & each.keys() for each in standing.limits.values()
    )


def _scopes(project: str, owner: str) -> tuple[Scope, ...]:
    return Scope(project), Scope(project, owner), Scope(principal=owner)


def _over(used: float, share: int) -> float:
    if share > 0:
        return used / share
    return math.inf if used > 0 else 0.0


def _part(value: float, values: Iterable[float]) -> float:
    total = sum(values)
    return value / total if total > 0 else 0.0


def _first_come(job: QueuedJob) -> tuple[int, int]:
    return job.queued_at, job.pk
