"""Simulate a week of a lab: ten people, three projects, and a machine with four emulated IPUs.

    python -m benchmarks.service week

Claims, waits, usage and news are the service's own, on a database of its own and on a clock that
goes from event to event; only the jobs do not run. It takes a minute, and the tables are the same
each time.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import func, insert, select, update

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from ipulse_core.quotas import Quota
from ipulse_service.agents import reservations
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db import people, tables
from ipulse_service.jobs.queue import claims
from ipulse_service.jobs.queue.waiting import QueueView
from tests.service.jobs.queue_world import BEGIN, World
from tests.service.jobs.test_fair_share import limit, new_world
from tests.service.jobs.test_week import HOUR, IPUS, WEEK, Lab, Work

SHARES = {"audio": 2, "vision": 1, "speech": 1}
LAB = {
    "audio": ("ada", "ben", "cem", "dia"),
    "vision": ("eva", "fay", "gil"),
    "speech": ("hal", "ida", "jon"),
}
MOST_DEVICES = 3  # of all jobs of the project speech at once
DAY = 24 * HOUR


@dataclass(frozen=True)
class PersonsWork(Work):
    """A job and who submits it."""

    owner: str


@dataclass
class RecordedLab(Lab):
    """Counts device time, waits and their reasons while the clock goes on."""

    began: dict[int, int] = field(default_factory=dict)  # when a job first ran
    contended: defaultdict[str, float] = field(  # device hours while all projects have waiting jobs
        default_factory=lambda: defaultdict(float)
    )
    hours_of_week: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    reasons: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # hours
    _since: int = BEGIN
    _waiting: list[tuple[str, str]] = field(default_factory=list)  # project and reason
    _running: list[PersonsWork] = field(default_factory=list)

    def submit(self, work: Work) -> None:
        """Submit a job as its owner, with a limit of its run."""
        assert isinstance(work, PersonsWork)
        pk = self.world.submit(work.needs, work.priority, work.project, work.owner)
        with self.world.write() as transaction:
            this = update(tables.jobs).where(tables.jobs.c.pk == pk)
            transaction.connection.execute(this.values(run_seconds=work.lasts // 1000))
        self.work[pk], self.left[pk] = work, work.lasts

    def settle(self) -> None:
        """Count the time since the last event, then let agents claim."""
        self._count()
        super().settle()
        self._since = self.world.now
        waits = self.world.waits(QueueView(1.0))
        self._waiting = [(self.work[pk].project, wait.reason) for pk, wait in waits.items()]
        self._running = [self._owned(run.claim.job.pk) for run in self.runs.values()]

    def _count(self) -> None:
        took = self.world.now - self._since
        in_week = max(0, min(self.world.now, BEGIN + WEEK) - self._since)
        all_wait = {project for project, _ in self._waiting} == SHARES.keys()
        for work in self._running:
            devices = max(1, work.needs.ipus)
            self.hours_of_week[work.project] += in_week * devices / HOUR
            if all_wait:
                self.contended[work.project] += took * devices / HOUR
        for _, reason in self._waiting:
            self.reasons[reason] += took / HOUR

    def _owned(self, pk: int) -> PersonsWork:
        work = self.work[pk]
        assert isinstance(work, PersonsWork)
        return work

    def waits_of(self, works: Iterable[PersonsWork]) -> list[float]:
        """Return the hours from submission to the first start of jobs."""
        wanted = {id(work) for work in works}
        return [
            (began - BEGIN - self.work[pk].at) / HOUR
            for pk, began in self.began.items()
            if id(self.work[pk]) in wanted
        ]

    def begin(self, agent: KnownAgent, claim: claims.Claim) -> None:
        """Note when a job first ran."""
        super().begin(agent, claim)
        self.began.setdefault(claim.job.pk, self.world.now)


def submissions(dice: random.Random) -> list[PersonsWork]:
    """Return a week of jobs: people submit on five days from nine to six, some more than others."""
    made = []
    for project, names in LAB.items():
        for number, owner in enumerate(names):
            for day in range(5):
                for _ in range(dice.randint(1, 5 - number)):
                    at = day * DAY + dice.randint(9 * 60, 18 * 60) * HOUR // 60
                    ipus = dice.choice((1, 1, 1, 2, 2, 1 if project == "speech" else 4))
                    needs = Needs("emulator", ipus)
                    lasts = dice.randint(1, 20) * HOUR // 4
                    made.append(PersonsWork(needs, project, 0, at, lasts, owner))
    return made


def lab(world: World) -> RecordedLab:
    """Return the machine, its agents and the rules of the lab."""
    with world.write() as transaction:
        for project in SHARES:
            people.add_project(transaction, project, "", False)
        webhook = {
            "id": "whk_week",
            "url": "https://chat.example.org",
            "form": "json",
            "types": "job.succeeded job.failed",
            "name": "chat",
            "is_on": True,
            "reason": "",
            "created_at": transaction.now,
        }
        transaction.connection.execute(insert(tables.webhooks), webhook)
    for project, share in SHARES.items():
        limit(world, Quota.SHARE, share, project)
    limit(world, Quota.DEVICES, MOST_DEVICES, "speech")
    agents = [
        KnownAgent(f"pod-{number}", ("emulator",), host="pod", ipus={"emulator": IPUS})
        for number in range(IPUS)
    ]
    for agent in agents:
        world.announce(agent)
    with world.write() as transaction:
        transaction.connection.execute(update(tables.agents).values(seen_at=BEGIN + 20 * WEEK))
        noon = BEGIN + 3 * DAY + 12 * HOUR
        reserved = reservations.add(transaction, "default", "vision", 1, noon, noon + 12 * HOUR)
    return RecordedLab(world, agents, [reserved])


def used_hours(world: World) -> dict[tuple[str, str], float]:
    """Return the device hours that the service has counted, by project and person."""
    used = tables.usage
    total = func.sum(used.c.device_ms) / HOUR
    query = select(used.c.project, used.c.owner, total).group_by(used.c.project, used.c.owner)
    with world.read() as transaction:
        return {(p, o): float(hours) for p, o, hours in transaction.connection.execute(query)}


def notices(world: World) -> Counter[str]:
    """Return the notices of ends, by kind."""
    query = select(tables.deliveries.c.kind, func.count()).group_by(tables.deliveries.c.kind)
    with world.read() as transaction:
        return Counter({row.kind: row[1] for row in transaction.connection.execute(query)})


def tables_of(made: RecordedLab, jobs: list[PersonsWork]) -> dict[str, list[Row]]:
    """Return the tables of a week that was played."""
    counted = used_hours(made.world)
    contended, shares = sum(made.contended.values()), sum(SHARES.values())
    projects: list[Row] = []
    for project, share in SHARES.items():
        own = [work for work in jobs if work.project == project]
        projects.append(
            {
                "project": project,
                "share": f"{share / shares:.0%}",
                "jobs": len(own),
                "device hours": sum(h for (name, _), h in counted.items() if name == project),
                "of these in the week": made.hours_of_week[project],
                "part while all projects had waiting jobs": (
                    f"{made.contended[project] / contended:.0%}"
                ),
            }
        )
    persons: list[Row] = []
    for project, names in LAB.items():
        for owner in names:
            own = [work for work in jobs if work.owner == owner]
            waits = made.waits_of(own)
            asked = sum(work.lasts * max(1, work.needs.ipus) for work in own) / HOUR
            persons.append(
                {
                    "person": owner,
                    "project": project,
                    "jobs": len(own),
                    "device hours asked for": asked,
                    "device hours counted": counted[project, owner],
                    "median wait (h)": statistics.median(waits),
                    "longest wait (h)": max(waits),
                }
            )
    waited = sum(made.reasons.values())
    reasons: list[Row] = [
        {"reason": reason, "hours of waiting": hours, "part": f"{hours / waited:.0%}"}
        for reason, hours in sorted(made.reasons.items(), key=lambda each: -each[1])
    ]
    found = notices(made.world)
    news: list[Row] = [{"notice": kind, "messages": found[kind]} for kind in sorted(found)]
    return {
        "Projects": projects,
        "People": persons,
        "Why jobs waited": reasons,
        "Notices": news,
    }


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service week", __doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the submissions (%(default)s)")
    options = parser.parse_args(arguments)
    jobs = submissions(random.Random(options.seed))
    with new_world() as world:
        made = lab(world)
        made.run([*jobs], 4 * WEEK)
        if any(made.left.values()):
            raise SystemExit("a job never ran to its end")
        found = tables_of(made, jobs)
    for title, rows in found.items():
        print(f"## {title}\n")
        finish(rows, None)
        print()
