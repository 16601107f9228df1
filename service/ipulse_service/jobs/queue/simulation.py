"""Plays the claims of the agents forward: which job starts when, and where.

It applies the same order and the same test as a claim does. Nothing here reads the database.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db.tables import DEFAULT_PROJECT, OWNER
from ipulse_service.jobs.queue.fair_share import Obstacle, QueuedJob

SEARCHED = 1000  # first jobs of which one may start on a reserved agent
# Returns the reservation that keeps a job from starting at a time.
ReservationAt = Callable[[QueuedJob, int], Obstacle | None]


class RunningJob(NamedTuple):
    """A job that an agent runs. Times are milliseconds since 1970."""

    job_id: str
    device: str
    since: int
    ends_at: int | None  # expected; None without a basis
    project: str = DEFAULT_PROJECT
    owner: str = OWNER
    stops_for: str | None = None  # id of the job for which it is asked to stop


@dataclass(frozen=True)
class SimulatedAgent:
    """An agent that takes jobs, and the one that it runs now."""

    agent: KnownAgent
    holder: RunningJob | None = None

    def takes(self, needs: Needs) -> bool:
        """Returns whether it takes such a job once it is free."""
        return needs.device in self.agent.usable_kinds and self.agent.can_run(needs)


class Place(NamedTuple):
    """A job's place among all jobs that compete with it, and what follows from it."""

    position: int | None  # from 1
    of: int | None  # jobs that compete, with this one
    servers: tuple[SimulatedAgent, ...]  # that take it; empty if there are none
    server: SimulatedAgent | None  # on which it is expected to start, if that is known
    start: int | None  # expected, in milliseconds since 1970; never in the past
    is_overtaken: bool = False  # jobs of the same priority that were queued later come first
    reservation: Obstacle | None = None  # without which it might start earlier


@dataclass
class _Pool:
    """The queued jobs that the same servers take, in order."""

    servers: frozenset[int]
    entries: deque[tuple[int, QueuedJob]] = field(default_factory=deque)  # with the order
    latest: tuple[int, int, int] | None = None  # of those before: priority, time, key
    count: int = 0
    ahead: int = 0
    rivals: list[_Pool] = field(default_factory=list)  # pools with a server in common, this too


def simulate(
    now: int,
    servers: Sequence[SimulatedAgent],
    queue: Sequence[QueuedJob],
    usual_ms: Callable[[Needs], int | None],
    reserved: Mapping[str, ReservationAt] | None = None,
) -> dict[int, Place]:
    """Returns the place of each queued job by its key.

    Args:
        now: The time in milliseconds since 1970.
        servers: The agents that are present.
        queue: The queued jobs in order.
        usual_ms: Returns the usual duration of a job, None without a basis.
        reserved: The test of each agent with reservations, by its name.
    """
    of_entry = _pools(servers, queue)
    pools = list({id(pool): pool for pool in of_entry}.values())
    starts, kept = _starts(now, servers, pools, usual_ms, reserved or {})
    totals = {id(pool): sum(rival.count for rival in pool.rivals) for pool in pools}
    taking = {id(pool): tuple(servers[number] for number in sorted(pool.servers)) for pool in pools}
    places = {}
    for entry, pool in zip(queue, of_entry, strict=True):
        start, server = starts.get(entry.pk, (None, None))
        places[entry.pk] = Place(
            position=1 + sum(rival.ahead for rival in pool.rivals),
            of=totals[id(pool)],
            servers=taking[id(pool)],
            server=server,
            start=start,
            is_overtaken=any(
                rival.latest is not None
                and rival.latest[0] == entry.priority
                and rival.latest[1:] > (entry.queued_at, entry.pk)
                for rival in pool.rivals
            ),
            reservation=kept.get(entry.pk),
        )
        this = (entry.priority, entry.queued_at, entry.pk)
        if pool.latest is None or pool.latest[0] != entry.priority or pool.latest < this:
            pool.latest = this
        pool.ahead += 1
    return places


def _pools(servers: Sequence[SimulatedAgent], queue: Sequence[QueuedJob]) -> list[_Pool]:
    """Returns the pool of each queued job."""
    by_needs: dict[Needs, _Pool] = {}
    by_servers: dict[frozenset[int] | str, _Pool] = {}
    of_entry = []
    for order, entry in enumerate(queue):
        needs = entry.needs
        pool = by_needs.get(needs)
        if pool is None:
            taking = frozenset(n for n, server in enumerate(servers) if server.takes(needs))
            # Jobs that no agent takes compete with those that wait for the same device.
            key = taking or entry.device
            pool = by_needs[needs] = by_servers.setdefault(key, _Pool(taking))
        pool.entries.append((order, entry))
        pool.count += 1
        of_entry.append(pool)
    for pool in by_servers.values():
        pool.rivals = [
            other for other in by_servers.values() if other is pool or other.servers & pool.servers
        ]
    return of_entry


def _starts(
    now: int,
    servers: Sequence[SimulatedAgent],
    pools: Sequence[_Pool],
    usual_ms: Callable[[Needs], int | None],
    reserved: Mapping[str, ReservationAt],
) -> tuple[dict[int, tuple[int, SimulatedAgent]], dict[int, Obstacle]]:
    """Returns the expected start of jobs and the server, and the reservations before, by job.

    The jobs that start are taken out of the pools.
    """
    of_server = [
        [pool.entries for pool in pools if number in pool.servers] for number in range(len(servers))
    ]
    free = []
    for number, server in enumerate(servers):
        at = now if server.holder is None else server.holder.ends_at
        if at is not None:
            # If several are free, those that take fewer jobs begin.
            free.append((max(at, now), len(of_server[number]), number))
    heapq.heapify(free)
    starts: dict[int, tuple[int, SimulatedAgent]] = {}
    kept: dict[int, Obstacle] = {}
    while free:
        at, rank, number = heapq.heappop(free)
        queues = [entries for entries in of_server[number] if entries]
        if not queues:
            continue
        reservation_at = reserved.get(servers[number].agent.name)
        if reservation_at is None:
            _, entry = min(queues, key=lambda entries: entries[0][0]).popleft()
        else:
            found, later = _first_allowed(queues, at, reservation_at, kept)
            if found is None:
                if later is not None:
                    heapq.heappush(free, (later, rank, number))
                continue
            entry = found
        starts[entry.pk] = (at, servers[number])
        usual = usual_ms(entry.needs)
        if usual is not None:
            heapq.heappush(free, (at + usual, rank, number))
    return starts, kept


def _first_allowed(
    queues: Sequence[deque[tuple[int, QueuedJob]]],
    at: int,
    reservation_at: ReservationAt,
    kept: dict[int, Obstacle],
) -> tuple[QueuedJob | None, int | None]:
    """Takes out the first job that may start on a reserved agent at a time.

    Without one it returns when to look again. `kept` gets the reservations that keep others.
    """
    ends = []
    for order, entry in islice(heapq.merge(*queues, key=lambda each: each[0]), SEARCHED):
        obstacle = reservation_at(entry, at)
        if obstacle is None:
            next(queue for queue in queues if (order, entry) in queue).remove((order, entry))
            return entry, None
        kept[entry.pk] = obstacle
        if obstacle.until is not None:
            ends.append(obstacle.until)
    return None, min(ends, default=None)
