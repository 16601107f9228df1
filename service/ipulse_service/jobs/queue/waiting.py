"""Why a job waits, its position in the queue, and when it may start."""

from __future__ import annotations

import bisect
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ipulse_core.states import JobState
from ipulse_service.agents import registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import dependencies
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.queue import admission, order
from ipulse_service.jobs.queue.durations import UsualDurations
from ipulse_service.jobs.queue.servers import present_servers
from ipulse_service.jobs.queue.simulation import Place, simulate

# A look at a long queue is shared for so many times the time that it took.
SHARED_FACTOR = 20
SHARED_SECONDS = 5.0
LONG = 500  # jobs; a look at a shorter queue is not shared
NAMES = 5  # agents that a detail names
_NEWEST = 2**63 - 1  # the key of a job that is planned; it comes after all others

Why = Literal[
    "no_agent",
    "no_match",
    "device_busy",
    "behind",
    "wake_up",
    "retry",
    "paused",
    "quarantine",
    "agent_draining",
    "dependency",
    "compile",
]


@dataclass(frozen=True)
class Waiting:
    """The reason for a job's wait. `estimated_start` is in milliseconds since 1970."""

    reason: Why
    detail: str = ""  # a sentence, where the reason alone does not say what to do
    position: int | None = None  # among all queued jobs that compete for the same agents, from 1
    of: int | None = None  # number of these jobs
    holder: str | None = None  # id of the job that holds the agent
    holder_device: str | None = None  # kind of the device that it uses
    holder_name: str | None = None  # name of a holder that must end or compile first
    estimated_start: int | None = None  # never in the past; None without a basis


@dataclass(frozen=True)
class JobPlan:
    """The expected wait of a job, and the present agents that could run it."""

    waiting: Waiting
    agents: int  # present
    with_device: int  # of these, with the kind of device
    with_data: int  # of those, with the data set
    able: int  # of those, with enough devices and all labels
    usual_ms: int | None  # the usual time with an agent; None without a basis


@dataclass(frozen=True)
class _Look:
    """The queue and the agents at one moment."""

    places: dict[int, Place]
    last: dict[Needs, Place]  # of the last job with these needs
    known: list[KnownAgent]
    now: int
    valid_until: float  # on the monotonic clock

    def places_of(self, jobs: Sequence[JobRow]) -> list[Place] | None:
        """Returns the places of the jobs, None if another look is needed."""
        if self.valid_until <= time.monotonic():
            return None
        places = []
        for job in jobs:
            place = self.places.get(job.pk)
            if place is None and (like := self.last.get(job.needs)):
                # It was queued since then. All of them would make for too many looks.
                place = like._replace(position=None, of=None, server=None, start=None)
            if place is None:
                return None
            places.append(place)
        return places


class QueueView:
    """The wait of each job, from one simulation of the whole queue for all readers."""

    def __init__(self, rescan_seconds: float) -> None:
        # An idle agent that has not claimed a job by then does not hear of it.
        self._patience_ms = round(rescan_seconds * 1000) + 1000
        self._lock = threading.Lock()
        self._look: _Look | None = None

    def waiting(self, transaction: Transaction, jobs: Sequence[JobRow]) -> dict[int, Waiting]:
        """Returns why jobs wait, by their keys; those that do not wait are left out."""
        waits: dict[int, Waiting] = {}
        for job in jobs:
            if job.state is JobState.PAUSED:
                waits[job.pk] = Waiting("paused")
            elif job.state is JobState.RETRY_WAIT:
                due = None if job.due_at is None else max(job.due_at, transaction.now)
                waits[job.pk] = Waiting("retry", estimated_start=due)
        blocked = [job for job in jobs if job.state is JobState.BLOCKED]
        for pk, awaited in dependencies.waiting_for(transaction, blocked).items():
            reason: Why = "compile" if awaited.is_compilation else "dependency"
            waits[pk] = Waiting(
                reason, awaited.detail, holder=awaited.first_id, holder_name=awaited.first_name
            )
        queued = [job for job in jobs if job.state is JobState.QUEUED]
        return waits | self._in_queue(transaction, queued)

    def _in_queue(self, transaction: Transaction, queued: Sequence[JobRow]) -> dict[int, Waiting]:
        """Returns why queued jobs wait, from one look at the queue."""
        if not queued:
            return {}
        with self._lock:
            look = self._look
            places = look.places_of(queued) if look else None
            if look is None or places is None:
                look = self._look = self._take_look(transaction)
                places = [look.places[job.pk] for job in queued]
        waits = {}
        for job, place in zip(queued, places, strict=True):
            waiting = _explain(look, job.needs, place)
            if waiting.estimated_start is not None:
                start = max(waiting.estimated_start, transaction.now)
                waiting = replace(waiting, estimated_start=start)
            waits[job.pk] = waiting
        return waits

    def plan(self, transaction: Transaction, needs: Needs, priority: int) -> JobPlan:
        """Returns what a job with these needs would wait for if it were submitted now."""
        now = transaction.now
        new = order.QueuedJob(priority, now, _NEWEST, *needs, now)
        look = self._take_look(transaction, new)
        present = [agent for agent in look.known if agent.is_present(now)]
        with_device = [agent for agent in present if needs.device in agent.device_kinds]
        return JobPlan(
            waiting=_explain(look, needs, look.places[_NEWEST]),
            agents=len(present),
            with_device=len(with_device),
            with_data=sum(agent.has_data(needs) for agent in with_device),
            able=sum(agent.can_run(needs) for agent in with_device),
            usual_ms=UsualDurations(transaction).of(needs),
        )

    def _take_look(self, transaction: Transaction, new: order.QueuedJob | None = None) -> _Look:
        begin = time.monotonic()
        queue = order.entries(transaction)
        if new is not None:
            bisect.insort(queue, new, key=lambda entry: entry.place)
        known = registry.known(transaction)
        usual = UsualDurations(transaction)
        present = present_servers(transaction, known, queue, usual, self._patience_ms)
        places = simulate(transaction.now, present, queue, usual.of)
        end = time.monotonic()
        if len(queue) >= LONG:
            end += min(SHARED_FACTOR * (end - begin), SHARED_SECONDS)
        last = {entry.needs: places[entry.pk] for entry in queue}
        return _Look(places, last, known, transaction.now, end)


def _explain(look: _Look, needs: Needs, place: Place) -> Waiting:
    place_in_queue = Waiting("device_busy", position=place.position, of=place.of)
    if not place.servers:
        reason, detail = _why_nobody_takes(look, needs)
        return replace(place_in_queue, reason=reason, detail=detail)
    starting = place.server is not None and place.server.holder is None
    if starting and place.start is not None and place.start <= look.now:
        return replace(place_in_queue, reason="wake_up", estimated_start=place.start)
    holders = [server.holder for server in place.servers if server.holder]
    holder = min(holders, key=lambda holder: holder.since, default=None)
    if place.server is not None:
        holder = place.server.holder
    return replace(
        place_in_queue,
        reason="device_busy" if len(holders) == len(place.servers) else "behind",
        holder=holder and holder.job_id,
        holder_device=holder and holder.device,
        estimated_start=place.start,
    )


def _why_nobody_takes(look: _Look, needs: Needs) -> tuple[Why, str]:
    with_device = [
        agent
        for agent in look.known
        if agent.is_present(look.now) and needs.device in agent.device_kinds
    ]
    if not with_device:
        return "no_agent", ""
    fitting = [agent for agent in with_device if agent.can_run(needs)]
    if not fitting:
        problems = admission.misfit(with_device, needs).problems
        details = [problem.detail for problem in problems]
        if absent := admission.awaited(look.known, needs, look.now):
            names = ", ".join(agent.name for agent in absent[:NAMES])
            details.append(
                f"absent agents that may have it: {names}. Such jobs are accepted until "
                "`ipulse agent remove NAME` removes those that are gone for good"
            )
        return "no_match", "; ".join(details)
    usable = [agent.name for agent in fitting if needs.device in agent.usable_kinds]
    if not usable:
        return "agent_draining" if all(agent.is_draining for agent in fitting) else "quarantine", ""
    names = ", ".join(usable[:NAMES])
    return "no_agent", f"registered, but without an answer to the wake-ups: {names}"
