"""A simulated week of a lab with pools, gangs, preemption and reservations."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from ipulse_core.quotas import Quota
from ipulse_core.states import JobState
from ipulse_service.agents import pools, registry, reservations
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.agents.pools import Pool, Preemption
from ipulse_service.agents.reservations import Reservation
from ipulse_service.db import people, tables
from ipulse_service.jobs import store, transitions
from ipulse_service.jobs.queue import claims, preemption
from ipulse_service.jobs.queue.waiting import QueueView
from tests.service.jobs.queue_world import BEGIN, SETTINGS, World
from tests.service.jobs.test_fair_share import HOUR, limit, new_world
from tests.service.jobs.test_preemption import give_back

IPUS = 4  # of each machine
WEEK = 7 * 24 * HOUR
SHARES = {"audio": 2, "vision": 1, "speech": 1}


@dataclass(frozen=True)
class Work:
    """A job of the simulation."""

    needs: Needs
    project: str
    priority: int
    at: int  # when it is submitted, in milliseconds from the beginning
    lasts: int


@dataclass
class Run:
    """An attempt that runs."""

    agent: KnownAgent
    claim: claims.Claim
    since: int
    ends: int


@dataclass
class Lab:
    """Agents that take the next job whenever they are idle; the clock goes from event to event."""

    world: World
    agents: list[KnownAgent]
    reserved: list[Reservation] = field(default_factory=list)
    work: dict[int, Work] = field(default_factory=dict)  # by the key of the job
    left: dict[int, int] = field(default_factory=dict)  # milliseconds
    runs: dict[str, Run] = field(default_factory=dict)  # by agent
    used: Counter[str] = field(default_factory=Counter)  # device milliseconds by project
    preempted: int = 0

    def submit(self, work: Work) -> None:
        pk = self.world.submit(work.needs, work.priority, work.project, work.project)
        with self.world.write() as transaction:
            limit_ = update(tables.jobs).where(tables.jobs.c.pk == pk)
            transaction.connection.execute(limit_.values(run_seconds=work.lasts // 1000))
        self.work[pk] = work
        self.left[pk] = work.lasts

    def run(self, submissions: list[Work], until: int) -> None:
        """Plays all events up to a time."""
        pending = sorted(submissions, key=lambda one: one.at)
        while True:
            while pending and BEGIN + pending[0].at <= self.world.now:
                self.submit(pending.pop(0))
            self.settle()
            edges = (each for one in self.reserved for each in (one.starts_at, one.ends_at))
            moments = [*(run.ends for run in self.runs.values()), *edges]
            moments += [BEGIN + pending[0].at] if pending else []
            if any(self.left.values()):
                moments.append(self.world.now + 3 * HOUR)
            following = min((each for each in moments if each > self.world.now), default=None)
            if following is None or following > BEGIN + until:
                return
            self.world.now = following
            for run in [run for run in self.runs.values() if run.ends <= following]:
                self.stop(run)
                self.world.end(run.claim)

    def settle(self) -> None:
        """Lets idle agents claim and others stop, until nothing changes."""
        changed = True
        while changed:
            changed = False
            for agent in self.agents:
                claim = None if agent.name in self.runs else self.world.claim(agent)
                if claim is not None:
                    self.begin(agent, claim)
                    changed = True
            with self.world.write() as transaction:
                stopped = {job.pk for job, _ in preemption.preempt(transaction, SETTINGS)}
            for run in [run for run in self.runs.values() if run.claim.job.pk in stopped]:
                self.stop(run)
                give_back(self.world, run.claim)
                self.preempted += 1
                changed = True
        self.check()

    def begin(self, agent: KnownAgent, claim: claims.Claim) -> None:
        pk = claim.job.pk
        assert all(run.claim.job.pk != pk for run in self.runs.values()), "a job ran twice"
        assert self.left[pk] > 0, "a job ran after its end"
        with self.world.write() as transaction:
            job = store.get_by_pk(transaction, pk)
            transitions.move(transaction, job, JobState.RUNNING)
        now = self.world.now
        self.runs[agent.name] = Run(agent, claim, now, now + self.left[pk])

    def stop(self, run: Run) -> None:
        """Counts what a run has done."""
        del self.runs[run.agent.name]
        pk, took = run.claim.job.pk, self.world.now - run.since
        self.left[pk] -= took
        assert self.left[pk] >= 0
        work = self.work[pk]
        self.used[work.project] += took * max(1, work.needs.ipus)

    def check(self) -> None:
        """Checks the invariants of every moment."""
        in_use: Counter[str] = Counter()
        for run in self.runs.values():
            work = self.work[run.claim.job.pk]
            in_use[run.agent.host] += work.needs.ipus
            assert run.agent.pool == work.needs.pool
            assert work.needs.pool != "pods" or work.project != "speech", "it may not use the pool"
            for one in self.reserved:
                if one.starts_at <= self.world.now < one.ends_at:
                    theirs = self.reserved_agents()[one.id]
                    assert run.agent.name not in theirs or work.project == one.project
        assert all(ipus <= IPUS for ipus in in_use.values()), in_use

    def reserved_agents(self) -> dict[str, list[str]]:
        found = reservations.of_agents(self.reserved, self.agents_now(), self.world.now)
        return {
            one.id: [name for name, windows in found.items() if one in windows]
            for one in self.reserved
        }

    def agents_now(self) -> list[KnownAgent]:
        with self.world.read() as transaction:
            return registry.known(transaction)


def lab(world: World, preempts: Preemption) -> Lab:
    """Two machines of IPUs in the pool `pods`, and two agents for everything else."""
    with world.write() as transaction:
        for project in SHARES:
            people.add_project(transaction, project, "", False)
        only = ("audio", "vision")
        pods = Pool("pods", agents=("pod-*",), projects=only, preemption=preempts)
        pools.add(transaction, pods)
        pools.change(transaction, "default", {"preemption": preempts})
    for project, share in SHARES.items():
        limit(world, Quota.SHARE, share, project)
    agents = [
        KnownAgent(f"pod-{name}-{number}", ("ipu",), host=name, ipus={"ipu": IPUS}, pool="pods")
        for name in "ab"
        for number in range(2)
    ]
    agents += [KnownAgent(f"cpu-{number}", ("cpu",), host=f"cpu-{number}") for number in range(2)]
    for agent in agents:
        world.announce(agent)
    with world.write() as transaction:
        transaction.connection.execute(update(tables.agents).values(seen_at=BEGIN + 20 * WEEK))
    return Lab(world, agents)


@st.composite
def weeks(draw: st.DrawFn) -> list[Work]:
    dice = random.Random(draw(st.integers(0, 2**32)))
    jobs = []
    for _ in range(draw(st.integers(10, 45))):
        on_ipus = dice.random() < 0.6
        needs = Needs("ipu", dice.choice((1, 1, 2, 4)), pool="pods") if on_ipus else Needs("cpu")
        project = dice.choice(("audio", "vision") if on_ipus else tuple(SHARES))
        priority = dice.choice((0, 0, 0, 0, 5))
        lasts = dice.randint(1, 12) * HOUR
        jobs.append(Work(needs, project, priority, dice.randint(0, 24) * HOUR, lasts))
    return jobs


def play(jobs: list[Work], preempts: Preemption, begin: int) -> Lab:
    with new_world() as world:
        made = lab(world, preempts)
        with world.write() as transaction:
            first = BEGIN + begin * HOUR
            times = first, first + 12 * HOUR
            made.reserved.append(reservations.add(transaction, "pods", "audio", 1, *times))
        made.run(jobs, 10 * WEEK)
        waits = world.waits(QueueView(1.0))
        assert not waits, "nobody starves"
    assert not any(made.left.values()), "all have run to their ends, once"
    return made


def test_n12_the_counted_time_is_what_ran() -> None:
    dice = random.Random(3)
    with new_world() as world:
        made = lab(world, Preemption.SHARE)
        projects = ("audio", "vision")
        made.run(
            [
                Work(needs, dice.choice(projects), 0, dice.randint(0, 12) * HOUR, 5 * HOUR)
                for needs in (Needs("ipu", ipus, pool="pods") for ipus in (1, 2, 4) * 4)
            ],
            WEEK,
        )
        assert not any(made.left.values())
        total = func.sum(tables.usage.c.device_ms)
        query = select(tables.usage.c.project, total).group_by(tables.usage.c.project)
        with world.read() as transaction:
            counted = {row.project: row[1] for row in transaction.connection.execute(query)}
    assert made.preempted
    assert counted == pytest.approx(dict(made.used), rel=1e-3)


@settings(max_examples=3, deadline=None)
@given(weeks(), st.sampled_from(Preemption), st.integers(0, 48))
def test_a_week(jobs: list[Work], preempts: Preemption, begin: int) -> None:
    play(jobs, preempts, begin)


@pytest.mark.verify
@settings(max_examples=100, deadline=None)
@given(weeks(), st.sampled_from(Preemption), st.integers(0, 48))
def test_many_weeks(jobs: list[Work], preempts: Preemption, begin: int) -> None:
    play(jobs, preempts, begin)


@pytest.mark.parametrize("preempts", [Preemption.NEVER, Preemption.SHARE])
def test_shares_hold_where_all_always_want_more(preempts: Preemption) -> None:
    """One begins a day before the others; after the week each has its share within a tenth."""
    dice = random.Random(7)
    with new_world() as world:
        made = lab(world, preempts)
        made.agents = [agent for agent in made.agents if agent.name.startswith("cpu")]
        jobs = [
            Work(Needs("cpu"), project, 0, begin * HOUR, dice.randint(3, 9) * HOUR)
            for project, begin in (("audio", 24), ("vision", 0), ("speech", 24))
            for _ in range(60)
        ]
        made.run(jobs, WEEK)
    for run in made.runs.values():
        made.used[made.work[run.claim.job.pk].project] += BEGIN + WEEK - run.since
    total, shares = sum(made.used.values()), sum(SHARES.values())
    for project, share in SHARES.items():
        assert abs(made.used[project] / total - share / shares) < 0.1, made.used
    assert preempts is Preemption.NEVER or made.preempted
