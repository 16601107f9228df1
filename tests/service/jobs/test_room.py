"""Room for jobs: IPUs that agents of a machine share, jobs that go ahead, and reservations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import update

from ipulse_core.errors import InvalidInput
from ipulse_core.states import JobState
from ipulse_service.agents import pools, reservations
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.agents.pools import Preemption
from ipulse_service.db import people, tables
from ipulse_service.jobs import store, transitions
from ipulse_service.jobs.queue import claims
from ipulse_service.jobs.queue.durations import FEWEST
from ipulse_service.jobs.queue.waiting import QueueView, Waiting
from tests.service.jobs.queue_world import World
from tests.service.jobs.test_fair_share import new_world
from tests.service.jobs.test_preemption import give_back, log_of, preempted

MINUTE = 60_000


@pytest.fixture
def world() -> Iterator[World]:
    with new_world() as made:
        yield made


def machine(world: World, agents: int, ipus: int = 4) -> list[KnownAgent]:
    """Agents that share the IPUs of a machine."""
    made = [
        KnownAgent(f"pod-{number}", ("ipu", "cpu"), host="pod", ipus={"ipu": ipus})
        for number in range(agents)
    ]
    for agent in made:
        world.announce(agent)
    return made


def history(world: World, needs: Needs, minutes: int) -> None:
    """Let jobs with these needs have taken so long."""
    for _ in range(FEWEST):
        pk = world.submit(needs)
        took = {"state": "succeeded", "phase_ms": f'{{"run": {minutes * MINUTE}}}'}
        with world.write() as transaction:
            this = update(tables.jobs).where(tables.jobs.c.pk == pk)
            transaction.connection.execute(this.values(took))


def claimed(world: World, agent: KnownAgent) -> int | None:
    claim = world.claim(agent)
    return None if claim is None else claim.job.pk


def wait_of(world: World, pk: int) -> Waiting:
    return world.waits(QueueView(1.0))[pk]


def test_n9_a_job_gets_all_its_ipus_or_none(world: World) -> None:
    first, second, third = machine(world, 3)
    small = world.submit(Needs("ipu", 2))
    assert claimed(world, first) == small
    large = world.submit(Needs("ipu", 4))
    assert claimed(world, second) is None, "two of the four are free"
    wait = wait_of(world, large)
    assert (wait.reason, wait.estimated_start) == ("gang", None)
    assert "2 of the 4" in wait.detail
    later = world.submit(Needs("ipu", 2))
    assert claimed(world, second) is None, "they are kept for the large one"
    assert wait_of(world, later).reason == "gang"
    on_cpu = world.submit(Needs("cpu"))
    assert claimed(world, third) == on_cpu, "it needs none of them"


@pytest.mark.parametrize(("minutes", "starts"), [(20, True), (40, False)])
def test_n8_a_small_job_goes_ahead_if_it_ends_before(
    world: World, minutes: int, starts: bool
) -> None:
    first, second = machine(world, 2)
    history(world, Needs("ipu", 2), 30)
    history(world, Needs("ipu", 1), minutes)
    world.submit(Needs("ipu", 2))
    running = world.claim(first)
    assert running is not None
    large = world.submit(Needs("ipu", 4))
    small = world.submit(Needs("ipu", 1))
    assert wait_of(world, large).estimated_start == world.now + 30 * MINUTE
    assert wait_of(world, small).reason == ("wake_up" if starts else "gang")
    assert claimed(world, second) == (small if starts else None)
    world.now += 30 * MINUTE
    world.end(running)
    machine(world, 2)
    assert claimed(world, first) == (None if starts else large)


def test_n10_small_jobs_never_starve_a_large_one(world: World) -> None:
    agents = machine(world, 4)
    history(world, Needs("ipu", 1), 10)
    running: list[tuple[int, KnownAgent, claims.Claim]] = []
    large = None
    for turn in range(200):
        if turn == 8:
            large = world.submit(Needs("ipu", 4))
        for _ in range(4):
            world.submit(Needs("ipu", 1))
        for agent in agents:
            if any(agent is busy for _, busy, _ in running):
                continue
            claim = world.claim(agent)
            if claim is None:
                continue
            if claim.job.pk == large:
                return
            running.append((world.now + (7 + turn % 4) * MINUTE, agent, claim))
        running.sort(key=lambda each: each[0])
        end, _, claim = running.pop(0)
        world.now = max(world.now, end)
        world.end(claim)
        machine(world, 4)
    raise AssertionError("the large job never started")


def reserve(world: World, project: str, agents: int, begin: int, end: int) -> str:
    with world.write() as transaction:
        if project not in {each.name for each in people.visible_projects(transaction)}:
            people.add_project(transaction, project, "", False)
        times = world.now + begin * MINUTE, world.now + end * MINUTE
        return reservations.add(transaction, "default", project, agents, *times).id


def test_reserved_agents_run_only_jobs_of_the_project(world: World) -> None:
    first, second = machine(world, 2)
    reserve(world, "vision", 1, 0, 60)
    ours = world.submit(Needs("cpu"), 0, "audio", "ada")
    more = world.submit(Needs("cpu"), 0, "audio", "ada")
    assert claimed(world, first) is None
    assert claimed(world, second) == ours
    wait = wait_of(world, more)
    assert (wait.reason, wait.estimated_start) == ("reservation", world.now + 60 * MINUTE)
    assert "vision" not in wait.detail, "the caller may not know of that project"
    theirs = world.submit(Needs("cpu"), -5, "vision", "cem")
    assert claimed(world, first) == theirs


def test_an_agent_that_may_not_take_a_job_is_not_taken_for_silent(world: World) -> None:
    machine(world, 1)
    reserve(world, "vision", 1, 0, 600)
    kept = world.submit(Needs("cpu"), 0, "audio", "ada")
    world.now += 60 * MINUTE  # longer than any wake-up takes
    with world.write() as transaction:
        transaction.connection.execute(update(tables.agents).values(seen_at=world.now))
    assert wait_of(world, kept).reason == "reservation"


def test_before_a_reservation_only_what_ends_in_time_starts(world: World) -> None:
    (agent,) = machine(world, 1)
    history(world, Needs("cpu"), 30)
    reserve(world, "vision", 1, 40, 60)
    short = world.submit(Needs("cpu"), 0, "audio", "ada")
    assert claimed(world, agent) == short
    late = world.submit(Needs("cpu"), 0, "audio", "ada")
    world.now += 15 * MINUTE
    machine(world, 1)
    assert claimed(world, agent) is None
    assert wait_of(world, late).reason in ("reservation", "device_busy")
    with world.write() as transaction:
        this = update(tables.jobs).where(tables.jobs.c.pk == late)
        transaction.connection.execute(this.values(run_seconds=600))
    assert claimed(world, agent) == late, "its limit says that it ends before"


def test_waits_and_plans_foresee_reservations(world: World) -> None:
    (agent,) = machine(world, 1)
    history(world, Needs("cpu"), 30)
    reserve(world, "vision", 1, 40, 100)
    world.submit(Needs("cpu"), 0, "audio", "ada")
    running = world.claim(agent)
    assert running is not None
    # It is free after 30 minutes, and reserved 10 minutes later.
    waiting = world.submit(Needs("cpu"), 0, "audio", "ada")
    wait = wait_of(world, waiting)
    assert (wait.reason, wait.estimated_start) == ("reservation", world.now + 100 * MINUTE)
    assert (wait.position, wait.of) == (1, 1)
    with world.read() as transaction:
        plan = QueueView(1.0).plan(transaction, Needs("cpu"), 0)
        short = QueueView(1.0).plan(transaction, Needs("cpu"), 0, None, 600)
    assert plan.waiting.reason == "reservation"
    assert plan.waiting.estimated_start == world.now + 100 * MINUTE
    assert short.waiting.estimated_start == world.now + 30 * MINUTE, "it ends before"
    theirs = world.submit(Needs("cpu"), -5, "vision", "cem")
    assert wait_of(world, theirs).estimated_start == world.now + 30 * MINUTE
    # What the claims then do is what was said.
    world.now += 30 * MINUTE
    world.end(running)
    machine(world, 1)
    assert claimed(world, agent) == theirs
    assert wait_of(world, waiting).estimated_start == world.now + 70 * MINUTE


def test_a_project_gets_what_it_reserved_where_jobs_may_be_preempted(world: World) -> None:
    (agent,) = machine(world, 1)
    with world.write() as transaction:
        pools.change(transaction, "default", {"preemption": Preemption.PRIORITY})
    world.submit(Needs("cpu"), 9, "audio", "ada")
    claim = world.claim(agent)
    assert claim is not None
    with world.write() as transaction:
        transitions.move(transaction, store.get_by_pk(transaction, claim.job.pk), JobState.RUNNING)
    theirs = world.submit(Needs("cpu"), 0, "vision", "cem")
    reserve(world, "vision", 1, 15, 60)
    world.now += 14 * MINUTE
    machine(world, 1)
    assert preempted(world) == []
    world.now += MINUTE
    machine(world, 1)
    assert preempted(world) == [claim.job.pk]
    give_back(world, claim)
    assert "vision" not in log_of(world, claim.job.pk), "a project of others"
    assert claimed(world, agent) == theirs


def test_a_gang_makes_all_that_it_needs_stop_or_nobody(world: World) -> None:
    agents = machine(world, 3)
    with world.write() as transaction:
        pools.change(transaction, "default", {"preemption": Preemption.PRIORITY})
    for priority in (0, 0, 9):
        world.submit(Needs("ipu", 1), priority)
    running = [world.claim(agent) for agent in agents]
    for claim in running:
        assert claim is not None
        with world.write() as transaction:
            job = store.get_by_pk(transaction, claim.job.pk)
            transitions.move(transaction, job, JobState.RUNNING)
    lows = {claim.job.pk for claim in running if claim and claim.job.priority == 0}
    world.now += 11 * MINUTE
    machine(world, 3)
    too_large = world.submit(Needs("ipu", 4), 5)
    assert preempted(world) == [], "one that it needs comes before it"
    with world.write() as transaction:
        this = update(tables.jobs).where(tables.jobs.c.pk == too_large)
        transaction.connection.execute(this.values(ipus=3))
    assert set(preempted(world)) == lows


def test_more_than_a_pool_has_is_not_reserved(world: World) -> None:
    machine(world, 2)
    reserve(world, "vision", 1, 0, 60)
    reserve(world, "vision", 1, 30, 90)
    for begin, end in ((0, 40), (20, 40), (50, 70)):
        with pytest.raises(InvalidInput):
            reserve(world, "vision", 1, begin, end)
    with pytest.raises(InvalidInput):
        reserve(world, "vision", 1, 60, 60)
    reserve(world, "vision", 1, 60, 90)
