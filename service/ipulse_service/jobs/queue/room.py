"""Room for a job on an agent: IPUs that agents of one machine share, and reservations.

A job that needs several IPUs gets all of them or none. The first job in order for which too few of
a machine are free waits for them, and they are kept for it: a later job goes ahead only if it is
expected to end before enough are free, or needs none of those. So many small jobs never keep a
large one waiting for ever.

Claims, waits and plans all use it. Nothing here reads the database but `read`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from ipulse_service.agents import registry, reservations
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.agents.reservations import Reservation
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.queue import servers
from ipulse_service.jobs.queue.durations import UsualDurations
from ipulse_service.jobs.queue.fair_share import Obstacle, QueuedJob, Standing

MANY = 2**31 - 1  # IPUs, where their number is not known


class Hold(NamedTuple):
    """IPUs that a job of an agent uses. Times are milliseconds since 1970."""

    agent: str
    kind: str
    ipus: int


@dataclass(frozen=True)
class _Leader:
    """The first job that waits for IPUs of a machine."""

    pk: int
    ipus: int
    start: int | None  # when enough are free; None: not known
    spare: int  # IPUs that are free then, and that it does not need


@dataclass(frozen=True)
class Rooms:
    """All agents at one moment: who holds which IPUs, and what is reserved."""

    now: int
    hosts: Mapping[str, str]  # machines by agent, where they are known
    holds: Sequence[Hold] = ()
    reserved: Mapping[str, Sequence[Reservation]] = field(default_factory=dict)  # by agent
    usual_ms: Callable[[Needs], int | None] = lambda needs: None
    ends: Callable[[], Mapping[str, int | None]] = dict  # expected, by agent

    def of(self, agent: KnownAgent) -> Room:
        """Returns the room on an agent."""
        return Room(self, agent)

    def is_limited(self, agent: KnownAgent) -> bool:
        """Returns whether an idle agent may have to refuse jobs for which it is suited."""
        return bool(self.reserved.get(agent.name) or self.beside(agent))

    def lacking(self, agent: KnownAgent, job: QueuedJob | JobRow) -> int:
        """Returns how many IPUs of an agent's machine a job lacks; none if that is not known."""
        total = agent.ipus.get(job.device)
        if total is None or not agent.host:
            return 0
        used = sum(hold.ipus for hold in self.beside(agent) if hold.kind == job.device)
        return job.ipus - (total - used)

    def beside(self, agent: KnownAgent) -> list[Hold]:
        """Returns the IPUs that agents of the same machine use."""
        if not agent.host:
            return []
        return [hold for hold in self.holds if self.hosts.get(hold.agent) == agent.host]


@dataclass
class Room:
    """The room on one agent. Jobs must ask in the order of the queue."""

    rooms: Rooms
    agent: KnownAgent
    _leaders: dict[str, _Leader] = field(default_factory=dict)  # by kind of device
    _too_few: dict[tuple[str, int], Obstacle] = field(default_factory=dict)  # by kind and IPUs

    def obstacle(self, job: QueuedJob | JobRow) -> Obstacle | None:
        """Returns why a job may not start here now, if that is so."""
        return self._reservation(job) or self._gang(job)

    def is_reserved(self, job: QueuedJob | JobRow) -> bool:
        """Returns whether a job may not start here because of a reservation."""
        return self._reservation(job) is not None

    def reservation_at(self, job: QueuedJob, moment: int) -> Obstacle | None:
        """Returns the reservation that keeps a job from starting here at a moment."""
        return self._reservation(job, moment)

    def is_reserved_for(self, project: str) -> bool:
        """Returns whether only jobs of a project may run here now."""
        now = self.rooms.now
        return any(
            each.project == project and each.starts_at <= now
            for each in self.rooms.reserved.get(self.agent.name, ())
        )

    def free_ipus(self, kind: str) -> int:
        """Returns how many IPUs of a kind may be free on the machine."""
        total = self.agent.ipus.get(kind)
        if total is None or not self.agent.host:
            return MANY
        used = sum(hold.ipus for hold in self.rooms.beside(self.agent) if hold.kind == kind)
        return max(0, total - used)

    def _reservation(self, job: QueuedJob | JobRow, at: int | None = None) -> Obstacle | None:
        now = self.rooms.now if at is None else at
        for reservation in self.rooms.reserved.get(self.agent.name, ()):
            if reservation.project == job.project or reservation.ends_at <= now:
                continue
            begin, end = map(rfc3339, (reservation.starts_at, reservation.ends_at))
            until = reservation.ends_at
            detail = f"reserved for another project from {begin} to {end}"
            if reservation.starts_at <= now:
                return Obstacle("reservation", detail, until, is_for_all=True)
            expected = self._expected_ms(job)
            if expected is None:
                detail += "; a run limit (`--run-seconds`) would say that the job ends before"
                return Obstacle("reservation", detail, until, is_for_all=False)
            if now + expected > reservation.starts_at:
                detail += f"; the job is expected to take {expected / 1000:.0f} s"
                return Obstacle("reservation", detail, until, is_for_all=False)
        return None

    def _gang(self, job: QueuedJob | JobRow) -> Obstacle | None:
        total = self.agent.ipus.get(job.device)
        if not job.ipus or total is None or not self.agent.host:
            return None
        if found := self._too_few.get((job.device, job.ipus)):
            return found
        free = job.ipus - self.rooms.lacking(self.agent, job)
        beside = [hold for hold in self.rooms.beside(self.agent) if hold.kind == job.device]
        leader = self._leaders.get(job.device)
        if job.ipus <= free:
            if leader is None or leader.pk == job.pk or job.ipus <= min(free, leader.spare):
                return None
            expected = self._expected_ms(job)
            if None not in (expected, leader.start) and self._ends_before(expected, leader.start):
                return None
            detail = (
                f"a job that comes first waits for {leader.ipus} IPUs of the machine "
                f"{self.agent.host} at once"
            )
            return Obstacle("gang", detail, leader.start, is_for_all=False)
        start, spare = self._enough(job.ipus, free, beside)
        if leader is None:
            self._leaders[job.device] = _Leader(job.pk, job.ipus, start, spare)
        detail = (
            f"it needs {job.ipus} IPUs of one machine at once, and {max(0, free)} of the {total} "
            f"of {self.agent.host} are free"
        )
        obstacle = Obstacle("gang", detail, start, is_for_all=False)
        self._too_few[job.device, job.ipus] = obstacle
        return obstacle

    def _ends_before(self, expected_ms: int | None, start: int | None) -> bool:
        return self.rooms.now + (expected_ms or 0) <= (start or 0)

    def _enough(self, wanted: int, free: int, beside: Iterable[Hold]) -> tuple[int | None, int]:
        """Returns when so many IPUs are free, and how many more than these."""
        ends = self.rooms.ends()
        known = [(ends.get(hold.agent), hold.ipus) for hold in beside]
        for end, ipus in sorted((end, ipus) for end, ipus in known if end is not None):
            free += ipus
            if free >= wanted:
                return end, free - wanted
        return None, 0

    def _expected_ms(self, job: QueuedJob | JobRow) -> int | None:
        """Returns the limit of the run of a job; without one, how long such jobs usually take."""
        if job.run_seconds is not None:
            return job.run_seconds * 1000
        return self.rooms.usual_ms(job.needs)


# Without other agents on its machine, and without reservations.
ANYWHERE = Room(Rooms(0, {}), KnownAgent("", ()))


def of_agent(transaction: Transaction, standing: Standing, agent: KnownAgent) -> Room:
    """Returns the room on an agent; all agents are read only if it depends on others."""
    has_ipus = agent.host and agent.ipus and any(each.ipus for each in standing.running)
    planned = reservations.read_all(transaction)
    known = registry.known(transaction) if has_ipus or planned else []
    return _read(transaction, standing, UsualDurations(transaction), known, planned).of(agent)


def read(
    transaction: Transaction,
    standing: Standing,
    usual: UsualDurations,
    known: Sequence[KnownAgent],
) -> Rooms:
    """Returns the rooms of all agents."""
    planned = reservations.read_all(transaction)
    return _read(transaction, standing, usual, known, planned)


def _read(
    transaction: Transaction,
    standing: Standing,
    usual: UsualDurations,
    known: Sequence[KnownAgent],
    planned: Sequence[Reservation],
) -> Rooms:
    holds = [Hold(each.agent, each.device, each.ipus) for each in standing.running if each.ipus]
    now = transaction.now
    return Rooms(
        now,
        {agent.name: agent.host for agent in known if agent.host},
        holds,
        reservations.of_agents(planned, known, now),
        usual.of,
        cache(lambda: servers.expected_ends(transaction, usual)),
    )
