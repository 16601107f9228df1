"""Preemption: jobs that stop at their next checkpoint, so that another may have their devices.

It happens in pools that allow it. A queued job makes others stop only if it comes before them in
the order of the queue, so that it gets the devices that they leave. A job that stops
goes back to its place in the queue; that costs it no attempt.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select, update

from ipulse_core.states import JobState, Reason
from ipulse_service.agents import pools, registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.pools import Pool, Preemption
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import attempts, jobs
from ipulse_service.jobs import events, store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue import fair_share, order
from ipulse_service.jobs.queue import room as rooms
from ipulse_service.jobs.queue.durations import UsualDurations
from ipulse_service.jobs.queue.fair_share import QueuedJob, Standing
from ipulse_service.jobs.queue.room import Rooms
from ipulse_service.quotas import usage
from ipulse_service.quotas.store import Scope
from ipulse_service.quotas.usage import RunningAttempt
from ipulse_service.settings import Settings

MOST = 3  # times that a job is preempted
LOOKED_AT = 20  # first jobs of the queue of a pool


@dataclass(frozen=True)
class Order:
    """An attempt that is to stop for a queued job, and why."""

    attempt: RunningAttempt
    for_job: QueuedJob
    why: str


def preempt(transaction: Transaction, settings: Settings) -> list[tuple[JobRow, str]]:
    """Orders attempts to stop; returns their jobs, each with the id of the one that waits.

    In a transaction that only reads it returns what it would order.
    """
    allowed = [
        pool
        for pool in pools.read_all(transaction).values()
        if pool.preemption is not Preemption.NEVER
    ]
    if not allowed:
        return []
    if transaction.is_writing:
        transaction.lock("preemption")
    standing = fair_share.read(transaction)
    known = registry.known(transaction)
    all_rooms = rooms.read(transaction, standing, UsualDurations(transaction), known)
    youngest = transaction.now - round(settings.preempt_after_seconds * 1000)
    found = []
    for pool in allowed:
        members = {agent.name: agent for agent in known if agent.pool == pool.name}
        running = {each.agent: each for each in standing.running if each.agent in members}
        looked = _Pool(transaction, pool, standing, all_rooms, members, running, youngest)
        for order_ in looked.orders():
            job = store.get_by_pk(transaction, order_.attempt.job_pk)
            found.append((job, _order(transaction, job, order_)))
    return found


def must_stop(transaction: Transaction, attempt: AttemptRow) -> bool:
    """Returns whether an attempt is to stop for a job; withdraws that if the job waits no more."""
    if attempt.preempted_for is None:
        return False
    waits = select(jobs.c.pk).where(
        jobs.c.id == attempt.preempted_for, jobs.c.state == JobState.QUEUED.value
    )
    if transaction.connection.execute(waits).first() is not None:
        return True
    this = update(attempts).where(attempts.c.pk == attempt.pk)
    transaction.connection.execute(this.values(preempted_for=None))
    return False


def named(transaction: Transaction, job: JobRow, waiting_id: str) -> str:
    """Returns how the log of a job names the one for which it stops.

    That is its id in the same project: who reads the log may not see jobs of other projects.
    """
    query = select(jobs.c.project).where(jobs.c.id == waiting_id)
    is_of_project = transaction.connection.execute(query).scalar() == job.project
    return waiting_id if is_of_project else "another job"


@dataclass
class _Pool:
    """A pool that allows preemption, at one moment."""

    transaction: Transaction
    pool: Pool
    standing: Standing
    rooms: Rooms
    members: Mapping[str, KnownAgent]
    running: Mapping[str, RunningAttempt]  # by agent
    youngest: int  # attempts that began later go on; milliseconds since 1970
    taken: set[str] = field(default_factory=set)  # agents that a job before gets

    def orders(self) -> Iterator[Order]:
        """Yields who is to stop. A job makes others stop once, until these have ended."""
        kinds = {kind for agent in self.members.values() for kind in agent.usable_kinds}
        awaited = {each.preempted_for for each in self.running.values() if each.preempted_for}
        first = order.first_jobs(self.transaction, kinds, self.pool.name, self.standing)
        for job in first[:LOOKED_AT]:
            if self.standing.obstacle(job) is not None:
                continue
            able = [agent for agent in self.members.values() if self._may_get(agent, job)]
            idle = [agent for agent in able if agent.name not in self.running]
            ready = [agent.name for agent in idle if not self.rooms.of(agent).obstacle(job)]
            if ready:
                self.taken.add(ready[0])
                continue
            if awaited and store.get_by_pk(self.transaction, job.pk).id in awaited:
                continue
            for agent in sorted(able, key=lambda agent: _cost(self.running.get(agent.name))):
                orders = self._victims(agent, job)
                if orders:
                    self.taken |= {agent.name, *(order_.attempt.agent for order_ in orders)}
                    yield from orders
                    break

    def _may_get(self, agent: KnownAgent, job: QueuedJob) -> bool:
        """Returns whether an agent could run a job if it were idle."""
        return (
            agent.name not in self.taken
            and agent.is_present(self.transaction.now)
            and job.device in agent.usable_kinds
            and agent.can_run(job.needs)
            and not self.rooms.of(agent).is_reserved(job)
        )

    def _victims(self, agent: KnownAgent, job: QueuedJob) -> list[Order]:
        """Returns who must stop so that an agent can run a job: all of them, or nobody."""
        lacking = self.rooms.lacking(agent, job)
        own = self.running.get(agent.name)
        beside = [self.running.get(hold.agent) for hold in self.rooms.beside(agent)]
        others = [each for each in beside if each and each.device == job.device and each != own]
        found = []
        for each in [*([own] if own else []), *sorted(others, key=_cost)]:
            if each is not own and lacking <= 0:
                break
            if why := self._why_stop(each, job):
                found.append(Order(each, job, why))
                lacking -= each.ipus if each.device == job.device else 0
            elif each is own:
                return []
        return found if lacking <= 0 else []

    def _why_stop(self, victim: RunningAttempt, job: QueuedJob) -> str:
        """Returns why a job may make another one stop; empty if it may not."""
        is_young = victim.state != JobState.RUNNING.value or victim.started_at > self.youngest
        if is_young or victim.preempted_for or victim.agent in self.taken:
            return ""
        room = self.rooms.of(self.members[victim.agent])
        if room.is_reserved_for(job.project) and victim.project != job.project:
            why = f"another project has reserved the worker {victim.agent}"
        elif job.priority > victim.priority:
            why = f"its priority is {job.priority}, and that of this job {victim.priority}"
        else:
            why = self._why_shared(victim, job)
        return why if why and _may_be_preempted(self.transaction, victim) else ""

    def _why_shared(self, victim: RunningAttempt, job: QueuedJob) -> str:
        """Returns the shares, if a project is below and the other above its own."""
        is_behind = job.priority < victim.priority or job.project == victim.project
        if self.pool.preemption is not Preemption.SHARE or is_behind:
            return ""
        used: dict[str, int] = {job.project: 0}
        for each in self.running.values():
            used[each.project] = used.get(each.project, 0) + each.devices
        wanted = usage.devices_of(job.ipus)
        total = sum(used.values()) - victim.devices + wanted
        shares = {project: self.standing.share(Scope(project)) for project in used}
        whole = max(1, sum(shares.values()))
        parts = {project: total * share / whole for project, share in shares.items()}
        is_under = used[job.project] + wanted <= parts[job.project]
        is_over = used[victim.project] - victim.devices >= parts[victim.project]
        ratios = self.standing.ratios
        comes_first = ratios(job.project, job.owner) < ratios(victim.project, victim.owner)
        if not (is_under and is_over and comes_first):
            return ""
        return (
            f"of {total} devices in use of the pool {self.pool.name} the project {victim.project} "
            f"uses {used[victim.project]} and has a share of {parts[victim.project]:.1f}, and "
            f"another project uses {used[job.project]} and has a share of "
            f"{parts[job.project]:.1f}"
        )


def _cost(attempt: RunningAttempt | None) -> tuple[float, int]:
    """Returns what is stopped first: the lowest priority, of those the one that began last."""
    return (-math.inf, 0) if attempt is None else (attempt.priority, -attempt.started_at)


def _may_be_preempted(transaction: Transaction, victim: RunningAttempt) -> bool:
    """Returns whether a job has checkpoints, and was not preempted too often."""
    spec = transaction.connection.execute(
        select(jobs.c.spec).where(jobs.c.pk == victim.job_pk)
    ).scalar_one()
    if "training" not in json.loads(spec):  # code of a user has no checkpoints
        return False
    query = select(func.count()).where(
        attempts.c.job_pk == victim.job_pk, attempts.c.reason == Reason.PREEMPTED.value
    )
    return transaction.connection.execute(query).scalar_one() < MOST


def _order(transaction: Transaction, job: JobRow, order_: Order) -> str:
    """Stores the order; returns the id of the job that waits."""
    waiting: Any = store.get_by_pk(transaction, order_.for_job.pk)
    if not transaction.is_writing:
        return str(waiting.id)
    this = update(attempts).where(
        attempts.c.pk == order_.attempt.pk, attempts.c.finished_at.is_(None)
    )
    transaction.connection.execute(this.values(preempted_for=waiting.id))
    other = named(transaction, job, waiting.id)
    line = f"It is asked to stop at its next checkpoint, for {other}: {order_.why}."
    lines = events.log_events([line], "info", "service")
    last_seq = events.append(transaction, job.pk, job.last_seq, job.attempt, lines)
    store.update(transaction, job, job._replace(last_seq=last_seq))
    return str(waiting.id)
