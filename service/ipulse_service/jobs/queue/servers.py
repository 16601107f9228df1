"""The agents that are present, and what each of them runs now."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from sqlalchemy import Row, bindparam, select

from ipulse_core.states import JobState
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import attempts, jobs
from ipulse_service.jobs.queue.durations import UsualDurations
from ipulse_service.jobs.queue.fair_share import QueuedJob
from ipulse_service.jobs.queue.simulation import RunningJob, SimulatedAgent

MEANINGFUL = 0.05  # of a training must be done before its own estimate counts

_HELD = (
    select(
        attempts.c.agent,
        attempts.c.started_at,
        attempts.c.preempted_for,
        *(
            jobs.c[name]
            for name in (
                "id",
                "device",
                "ipus",
                "state",
                "progress",
                "updated_at",
                "project",
                "owner",
            )
        ),
    )
    .join(jobs, jobs.c.pk == attempts.c.job_pk)
    .where(attempts.c.finished_at.is_(None))
    .order_by(attempts.c.started_at)
)
_LATELY_FREE = (
    select(attempts.c.agent).distinct().where(attempts.c.finished_at > bindparam("since"))
)


def present_servers(
    transaction: Transaction,
    known: Collection[KnownAgent],
    queue: Sequence[QueuedJob],
    usual: UsualDurations,
    patience_ms: int,
    is_limited: Callable[[KnownAgent], bool],
) -> list[SimulatedAgent]:
    """Returns the agents that take jobs now or hold one.

    An idle agent is left out if a job of the queue that it takes has waited for it longer than
    `patience_ms`, unless it `is_limited`: then it may have refused the job.
    """
    now = transaction.now
    agents = {agent.name: agent for agent in known}
    holders: dict[str, RunningJob] = {}
    for row in transaction.connection.execute(_HELD):
        # One that holds a job is there, even if it never registered or is late.
        agents.setdefault(row.agent, KnownAgent(row.agent, (row.device,)))
        holders[row.agent] = _with(holders.get(row.agent), _holder(row, now, usual))
    since = now - patience_ms
    lately_free = set(transaction.connection.execute(_LATELY_FREE, {"since": since}).scalars())
    overdue = {entry.needs for entry in queue if entry.state_since <= since}
    servers = []
    for name, agent in agents.items():
        server = SimulatedAgent(agent, holders.get(name))
        if server.holder is None:
            if not agent.is_present(now):
                continue
            has_had_time = (
                agent.since <= since and name not in lately_free and not is_limited(agent)
            )
            if has_had_time and any(server.takes(needs) for needs in overdue):
                continue
        servers.append(server)
    return servers


def expected_ends(transaction: Transaction, usual: UsualDurations) -> dict[str, int | None]:
    """Returns when the jobs that agents hold are expected to end, by agent; None: not known."""
    return {
        row.agent: _holder(row, transaction.now, usual).ends_at
        for row in transaction.connection.execute(_HELD)
    }


def _holder(row: Row[Any], now: int, usual: UsualDurations) -> RunningJob:
    progress = json.loads(row.progress) if row.progress else {}
    eta = progress.get("eta_seconds")
    is_running = row.state == JobState.RUNNING.value
    if is_running and eta is not None and progress["step"] >= MEANINGFUL * progress["steps"]:
        ends_at = row.updated_at + round(1000 * eta)
    else:
        took = usual.of(Needs(row.device, row.ipus))
        ends_at = None if took is None else row.started_at + took
    if ends_at is not None and ends_at < now:
        ends_at = None  # it has taken longer than expected and may end at any time
    return RunningJob(
        row.id, row.device, row.started_at, ends_at, row.project, row.owner, row.preempted_for
    )


def _with(former: RunningJob | None, holder: RunningJob) -> RunningJob:
    """Returns the holder of an agent with two jobs, of which one will be found lost."""
    if former is None:
        return holder
    if former.ends_at is None or holder.ends_at is None:
        return former._replace(ends_at=None)
    return former._replace(ends_at=max(former.ends_at, holder.ends_at))
