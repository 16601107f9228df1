"""Why a job waits, its position in the queue, and when it may start."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ipulse_core.states import JobState
from ipulse_service.agents import registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db.access import Access
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import dependencies
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.queue import admission, fair_share, order
from ipulse_service.jobs.queue import room as rooms
from ipulse_service.jobs.queue.durations import Expected, UsualDurations, expected
from ipulse_service.jobs.queue.fair_share import Obstacle, QueuedJob, Standing
from ipulse_service.jobs.queue.room import Rooms
from ipulse_service.jobs.queue.servers import present_servers
from ipulse_service.jobs.queue.simulation import Place, SimulatedAgent, simulate

# A look at a long queue is shared for so many times the time that it took.
SHARED_FACTOR = 20
SHARED_SECONDS = 5.0
LONG = 50  # jobs; a look at a shorter queue is not shared: it takes 2 ms
EXPLAINED = 1000  # first jobs of which it is known that there is no room for them
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
    "quota",
    "fair_share",
    "pool",
    "reservation",
    "gang",
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
    expected: Expected | None  # the time with an agent, by its work


@dataclass(frozen=True)
class _Look:
    """The queue and the agents at one moment."""

    places: dict[int, Place]
    last: dict[tuple[Needs, str, str], Place]  # of the last job with these needs, of each owner
    obstacles: dict[int, Obstacle]  # for which jobs wait, such as quotas
    standing: Standing
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
            if place is None and (like := self.last.get(_kind_of(job))):
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
            waiting = _explain(transaction.access, look, job, place)
            if waiting.estimated_start is not None:
                start = max(waiting.estimated_start, transaction.now)
                waiting = replace(waiting, estimated_start=start)
            waits[job.pk] = waiting
        return waits

    def plan(
        self,
        transaction: Transaction,
        needs: Needs,
        priority: int,
        work: float | None = None,
        run_seconds: int | None = None,
    ) -> JobPlan:
        """Returns what a job with these needs would wait for if it were submitted now.

        `work` is its work, as `work_of` returns it, and `run_seconds` the limit of its run.
        """
        now = transaction.now
        access = transaction.access
        account = access.preferred_project, access.name
        new = QueuedJob(priority, now, _NEWEST, *needs, now, *account, run_seconds)
        look = self._take_look(transaction, new)
        present = [agent for agent in look.known if agent.is_present(now)]
        with_device = [agent for agent in present if agent.has_device(needs)]
        return JobPlan(
            waiting=_explain(access, look, new, look.places[_NEWEST]),
            agents=len(present),
            with_device=len(with_device),
            with_data=sum(agent.has_data(needs) for agent in with_device),
            able=sum(agent.can_run(needs) for agent in with_device),
            usual_ms=UsualDurations(transaction).of(needs),
            expected=expected(transaction, needs, work),
        )

    def _take_look(self, transaction: Transaction, new: QueuedJob | None = None) -> _Look:
        begin = time.monotonic()
        standing = fair_share.read(transaction)
        found = order.entries(transaction)
        if new is not None:
            found.append(new)
        for entry in found:
            standing.charge(entry, 0.0)  # so that all who want devices are known
        obstacles = {
            entry.pk: obstacle for entry in found if (obstacle := standing.obstacle(entry))
        }
        queue = order.in_order(found, standing.copy())
        known = registry.known(transaction)
        usual = UsualDurations(transaction)
        all_rooms = rooms.read(transaction, standing, usual, known)
        allowed = [entry for entry in queue if entry.pk not in obstacles]
        present = present_servers(
            transaction, known, allowed, usual, self._patience_ms, all_rooms.is_limited
        )
        obstacles |= _without_room(all_rooms, present, allowed)
        may_start = [entry for entry in queue if entry.pk not in obstacles]
        reserved = {
            server.agent.name: all_rooms.of(server.agent).reservation_at
            for server in present
            if all_rooms.reserved.get(server.agent.name)
        }
        places = simulate(transaction.now, present, may_start, usual.of, reserved)
        for entry in found:
            if entry.pk in obstacles:
                obstacles[entry.pk] = _with_end(obstacles[entry.pk], present)
                taking = tuple(server for server in present if server.takes(entry.needs))
                places[entry.pk] = Place(None, None, taking, None, None)
        end = time.monotonic()
        if len(queue) >= LONG:
            end += min(SHARED_FACTOR * (end - begin), SHARED_SECONDS)
        last = {_kind_of(entry): places[entry.pk] for entry in queue}
        return _Look(places, last, obstacles, standing, known, transaction.now, end)


def _without_room(
    all_rooms: Rooms, present: Sequence[SimulatedAgent], queue: Sequence[QueuedJob]
) -> dict[int, Obstacle]:
    """Returns why jobs do not start on idle agents that could run them, by their keys.

    Reservations alone are not among these reasons: `simulate` knows when they end.
    """
    idle = [server for server in present if server.holder is None]
    limited = {server.agent.name for server in idle if all_rooms.is_limited(server.agent)}
    if not limited:
        return {}
    found: dict[int, Obstacle] = {}
    of_agent = {server.agent.name: all_rooms.of(server.agent) for server in idle}
    for entry in queue[:EXPLAINED]:
        able = [server.agent.name for server in idle if server.takes(entry.needs)]
        obstacles = [of_agent[name].obstacle(entry) for name in able]
        ends = [each for each in obstacles if each is not None]
        are_reserved = all(each.reason == "reservation" for each in ends)
        if ends and len(ends) == len(able) and not are_reserved:
            found[entry.pk] = min(ends, key=lambda each: each.until or math.inf)
    return found


def _kind_of(job: QueuedJob | JobRow) -> tuple[Needs, str, str]:
    return job.needs, job.project, job.owner


def _with_end(obstacle: Obstacle, present: Sequence[SimulatedAgent]) -> Obstacle:
    """Returns an obstacle with the time at which the first of the running jobs is to end."""
    if obstacle.until is not None or obstacle.reason != "quota":
        return obstacle
    running = (server.holder for server in present if server.holder is not None)
    ends = [
        holder.ends_at
        for holder in running
        if holder.ends_at is not None and obstacle.scope.includes(holder.project, holder.owner)
    ]
    return replace(obstacle, until=min(ends, default=None))


def _explain(access: Access, look: _Look, job: QueuedJob | JobRow, place: Place) -> Waiting:
    """Returns why a job waits; jobs of projects that the caller may not read are not named."""
    needs = job.needs
    place_in_queue = Waiting("device_busy", position=place.position, of=place.of)
    if not place.servers:
        reason, detail = _why_nobody_takes(look, needs)
        return replace(place_in_queue, reason=reason, detail=detail)
    if obstacle := look.obstacles.get(job.pk) or look.standing.obstacle(job):
        until = obstacle.until
        return replace(
            place_in_queue, reason=obstacle.reason, detail=obstacle.detail, estimated_start=until
        )
    starting = place.server is not None and place.server.holder is None
    if starting and place.start is not None and place.start <= look.now:
        return replace(place_in_queue, reason="wake_up", estimated_start=place.start)
    if place.reservation is not None:
        return replace(
            place_in_queue,
            reason="reservation",
            detail=place.reservation.detail,
            estimated_start=place.start,
        )
    holders = [server.holder for server in place.servers if server.holder]
    holder = min(holders, key=lambda holder: holder.since, default=None)
    if place.server is not None:
        holder = place.server.holder
    stopping = [
        each for each in holders if each.stops_for and each.stops_for == getattr(job, "id", None)
    ]
    if stopping:
        place_in_queue = replace(
            place_in_queue,
            detail="a job that comes after it stops at its next checkpoint, to make room",
        )
        holder = stopping[0]
    if holder is not None and not access.sees(holder.project):
        holder = None
    if place.is_overtaken and not stopping:
        detail = look.standing.explain(job.project, job.owner)
        return replace(
            place_in_queue, reason="fair_share", detail=detail, estimated_start=place.start
        )
    return replace(
        place_in_queue,
        reason="device_busy" if len(holders) == len(place.servers) else "behind",
        holder=holder and holder.job_id,
        holder_device=holder and holder.device,
        estimated_start=place.start,
    )


def _why_nobody_takes(look: _Look, needs: Needs) -> tuple[Why, str]:
    with_device = [
        agent for agent in look.known if agent.is_present(look.now) and agent.has_device(needs)
    ]
    if not with_device:
        if any(agent.is_present(look.now) for agent in look.known):
            return "no_agent", f"no agent of the pool {needs.pool} has this kind of device"
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
