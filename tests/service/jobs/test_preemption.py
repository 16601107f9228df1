"""Jobs make others stop in a pool that allows preemption."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import select, update

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.states import JobState, Reason
from ipulse_service.agents import pools
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.agents.pools import Preemption
from ipulse_service.db import tables
from ipulse_service.jobs import attempts, leases, store, transitions
from ipulse_service.jobs.queue import claims, preemption
from ipulse_service.jobs.queue.waiting import QueueView
from tests.service.jobs.queue_world import SETTINGS, World
from tests.service.jobs.test_fair_share import new_world

ON_CPU = Needs("cpu")
LONG_MS = 601_000


@pytest.fixture
def world() -> Iterator[World]:
    with new_world() as made:
        yield made


def allow(world: World, how: Preemption) -> None:
    with world.write() as transaction:
        pools.change(transaction, "default", {"preemption": how})


def agents(world: World, count: int) -> list[KnownAgent]:
    made = [KnownAgent(f"agent-{number}", ("cpu",)) for number in range(count)]
    for agent in made:
        world.announce(agent)
    return made


def run(world: World, agent: KnownAgent) -> claims.Claim:
    """Claim a job and let it run for longer than a job is protected."""
    claimed = world.claim(agent)
    assert claimed is not None
    with world.write() as transaction:
        job = store.get_by_pk(transaction, claimed.job.pk)
        transitions.move(transaction, job, JobState.RUNNING)
    return claimed


def pass_time(world: World, made: list[KnownAgent]) -> None:
    world.now += LONG_MS
    for agent in made:
        world.announce(agent)


def log_of(world: World, pk: int) -> str:
    with world.read() as transaction:
        query = select(tables.events.c.body).where(tables.events.c.job_pk == pk)
        return " ".join(transaction.connection.execute(query).scalars())


def preempted(world: World) -> list[int]:
    with world.write() as transaction:
        return [job.pk for job, _ in preemption.preempt(transaction, SETTINGS)]


def give_back(world: World, claimed: claims.Claim) -> None:
    """End an attempt as its agent does when it must return the job; it is queued again."""
    with world.write() as transaction:
        [attempt] = [
            each for each in leases.of_job(transaction, claimed.job.pk) if each.finished_at is None
        ]
        job = store.get_by_pk(transaction, claimed.job.pk)
        outcome = AttemptOutcome(Reason.WORKER_STOPPED)
        attempts.conclude(transaction, job, attempt, outcome, SETTINGS)
        attempts.requeue(transaction)


def test_a_higher_priority_stops_the_lowest_that_began_last(world: World) -> None:
    allow(world, Preemption.PRIORITY)
    fleet = agents(world, 3)
    for priority in (5, 0, 0):
        world.submit(ON_CPU, priority)
    running = [run(world, agent) for agent in fleet]
    with world.write() as transaction:
        later = update(tables.attempts).where(tables.attempts.c.agent == "agent-2")
        transaction.connection.execute(later.values(started_at=world.now + 1))
    high = world.submit(ON_CPU, 9)
    assert preempted(world) == [], "they have only begun"
    pass_time(world, fleet)
    assert preempted(world) == [running[2].job.pk]
    assert preempted(world) == [], "one is enough"
    [wait] = world.waits(QueueView(1.0)).values()
    assert (wait.reason, wait.holder) == ("device_busy", running[2].job.id)
    assert "checkpoint" in wait.detail
    give_back(world, running[2])
    claimed = world.claim(fleet[2])
    assert claimed is not None
    assert claimed.job.pk == high
    with world.read() as transaction:
        job = store.get_by_pk(transaction, running[2].job.pk)
        [attempt] = leases.of_job(transaction, job.pk)
    assert (job.state, job.losses, job.queued_at) == ("queued", 0, running[2].job.queued_at)
    assert attempt.reason == "preempted"


@pytest.mark.parametrize(
    ("how", "priorities"),
    [(Preemption.NEVER, (0, 9)), (Preemption.PRIORITY, (0, 0)), (Preemption.PRIORITY, (9, 0))],
)
def test_others_go_on(world: World, how: Preemption, priorities: tuple[int, int]) -> None:
    allow(world, how)
    fleet = agents(world, 1)
    world.submit(ON_CPU, priorities[0])
    run(world, fleet[0])
    world.submit(ON_CPU, priorities[1])
    pass_time(world, fleet)
    assert preempted(world) == []


def test_a_project_below_its_share_gets_its_devices(world: World) -> None:
    allow(world, Preemption.SHARE)
    fleet = agents(world, 4)
    for _ in range(6):
        world.submit(ON_CPU, 0, "audio", "ada")
    running = {agent.name: run(world, agent) for agent in fleet}
    vision = [world.submit(ON_CPU, 0, "vision", "cem") for _ in range(4)]
    started = []
    for _ in range(6):
        pass_time(world, fleet)
        stopped = set(preempted(world))
        assert not any("vision" in log_of(world, pk) for pk in stopped), "a project of others"
        for agent in fleet:
            if running[agent.name].job.pk in stopped:
                give_back(world, running[agent.name])
                running[agent.name] = run(world, agent)
                started.append(running[agent.name].job.pk)
    assert started == vision[:2], "each project has two of the four, and none takes from the other"


def test_n13_a_job_is_preempted_at_most_three_times(world: World) -> None:
    allow(world, Preemption.PRIORITY)
    fleet = agents(world, 1)
    low = world.submit(ON_CPU)
    for _ in range(preemption.MOST):
        claimed = run(world, fleet[0])
        assert claimed.job.pk == low
        world.submit(ON_CPU, 1)
        pass_time(world, fleet)
        assert preempted(world) == [low]
        give_back(world, claimed)
        high = world.claim(fleet[0])
        assert high is not None
        world.end(high)
    run(world, fleet[0])
    world.submit(ON_CPU, 1)
    pass_time(world, fleet)
    assert preempted(world) == []
