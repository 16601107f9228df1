"""Predictions about the queue come true: thousands of jobs on a clock of their own."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db import migrations, tables
from ipulse_service.db.engine import Database
from ipulse_service.jobs import attempts, store
from ipulse_service.jobs.queue import claims, fair_share, order
from ipulse_service.jobs.queue import waiting as waiting_module
from ipulse_service.jobs.queue.durations import FEWEST
from ipulse_service.jobs.queue.simulation import Place, simulate
from ipulse_service.jobs.queue.waiting import QueueView
from tests import example_seed
from tests.service.jobs.queue_world import World

KINDS = ("cpu", "emulator", "ipu")
USUAL_MS = {"cpu": 60_000, "emulator": 240_000, "ipu": 45_000}
ALIKE = 3  # the last of the fleets that are tried
SEED = example_seed.SEED or 0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    database = Database(f"sqlite:///{tmp_path}/ipulse.db")
    migrations.upgrade(database)
    yield World(database)
    database.close()


def prepare_history(world: World) -> None:
    """Let jobs of each kind and size have taken exactly the usual time."""
    for kind in KINDS:
        for ipus in (0, 1, 4) if kind != "cpu" else (0,):
            for _ in range(FEWEST):
                pk = world.submit(Needs(kind, ipus))
                took = f'{{"run": {USUAL_MS[kind]}}}'
                with world.write() as transaction:
                    this = update(tables.jobs).where(tables.jobs.c.pk == pk)
                    transaction.connection.execute(this.values(state="succeeded", phase_ms=took))


def fleet(dice: random.Random) -> list[KnownAgent]:
    """Agents with several kinds each, of which some lack IPUs or data."""
    return [
        KnownAgent(
            f"agent-{number}",
            tuple(sorted(dice.sample(KINDS, dice.randint(1, 3)))),
            ipus={"emulator": dice.choice((1, 4)), "ipu": dice.choice((1, 4))},
            data_sets=frozenset(dice.sample(("shd/shd", "npz/mine"), dice.randint(0, 2))),
        )
        for number in range(dice.randint(1, 5))
    ]


def needs(dice: random.Random) -> Needs:
    kind = dice.choice(KINDS)
    ipus = 0 if kind == "cpu" else dice.choice((0, 1, 1, 4))
    return Needs(kind, ipus, dice.choice((None, None, None, "shd/shd", "npz/mine")))


def seeded(number: int) -> random.Random:
    """Random numbers; their seed is shown if a test fails."""
    sys.stdout.write(f"seed {SEED + number}\n")
    return random.Random(SEED + number)


@pytest.mark.seeded
@pytest.mark.parametrize(
    "fleet_number",
    [0, *(pytest.param(n, marks=pytest.mark.verify) for n in range(1, ALIKE)), ALIKE],
)
def test_n11_jobs_start_in_order_and_when_that_was_said(world: World, fleet_number: int) -> None:
    dice = seeded(fleet_number)
    prepare_history(world)
    free = fleet(dice)
    if fleet_number == ALIKE:  # then it does not matter which agent takes a job
        free = [KnownAgent(f"agent-{number}", KINDS) for number in range(3)]
    pks = []
    for _ in range(120):
        pks.append(world.submit(needs(dice), dice.choice((-1, 0, 0, 0, 5))))
        world.now += dice.randint(0, 2)  # some at the same millisecond
    for agent in free:
        world.announce(agent)
    view = QueueView(rescan_seconds=1e6)
    said = world.waits(view)
    assert set(said) == set(pks)
    begin = world.now
    running: list[tuple[int, KnownAgent, claims.Claim]] = []
    started: dict[int, int] = {}
    while True:
        # If several are free, those that take fewer jobs begin, as documented.
        for agent in list(free):
            with world.read() as transaction:
                standing = fair_share.read(transaction)
                queued = order.in_order(order.entries(transaction), standing)
            claim = world.claim(agent)
            could = [entry.pk for entry in queued if agent.can_run(entry.needs)]
            if claim is None:
                assert not could
                continue
            assert claim.job.pk == could[0], "the first that fits"
            started[claim.job.pk] = world.now
            free.remove(agent)
            running.append((world.now + USUAL_MS[claim.job.device], agent, claim))
        if not running:
            break
        next_end = min(end for end, _, _ in running)
        world.now = next_end
        for item in [item for item in running if item[0] == next_end]:
            running.remove(item)
            world.end(item[2])
            world.announce(item[1])
            free.append(item[1])
    for pk, waiting in said.items():
        if waiting.reason in ("no_agent", "no_match"):
            assert pk not in started
            assert waiting.estimated_start is None
            continue
        assert waiting.estimated_start is not None
        assert waiting.estimated_start >= begin
        assert (waiting.reason == "wake_up") == (waiting.estimated_start == begin)
        assert pk in started
    if fleet_number == ALIKE:
        assert {pk: said[pk].estimated_start for pk in started} == started
    assert len(started) + sum(w.estimated_start is None for w in said.values()) == len(pks)


@pytest.mark.verify
@pytest.mark.seeded
def test_with_one_agent_each_start_is_known_exactly(world: World) -> None:
    dice = seeded(0)
    prepare_history(world)
    agent = KnownAgent("a", KINDS, ipus={"emulator": 4, "ipu": 4})
    world.announce(agent)
    for _ in range(100):
        world.submit(needs(dice), dice.choice((0, 0, 3)))
        world.now += 1
    said = world.waits(QueueView(rescan_seconds=1e6))
    by_position = sorted(said, key=lambda pk: said[pk].position or 0)
    assert [said[pk].position for pk in by_position] == list(range(1, 101))
    for pk in by_position:
        world.announce(agent)
        claim = world.claim(agent)
        assert claim is not None
        assert (claim.job.pk, world.now) == (pk, said[pk].estimated_start)
        if by_position[-1] != pk:
            later = world.waits(QueueView(rescan_seconds=1e6))  # a view shares its looks
            assert {waiting.holder for waiting in later.values()} == {claim.job.id}
            assert all(
                waiting.estimated_start == said[other].estimated_start
                for other, waiting in later.items()
            )
        world.now += USUAL_MS[claim.job.device]
        world.end(claim)


def test_a_look_at_a_long_queue_is_shared(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_history(world)
    world.announce(KnownAgent("a", ("cpu", "emulator")))
    world.announce(KnownAgent("b", ("cpu",)))
    pk = world.submit(Needs("cpu"))
    with world.write() as transaction:
        jobs = tables.jobs
        row = transaction.connection.execute(select(jobs).where(jobs.c.pk == pk)).one()._asdict()
        del row["pk"]
        rows = [
            {**row, "id": f"job_{n:024x}", "device": KINDS[n % 2], "queued_at": world.now + n}
            for n in range(10_000)
        ]
        transaction.connection.execute(insert(jobs), rows)
    looks = []

    def noted(*arguments: Any) -> dict[int, Place]:
        looks.append(arguments)
        return simulate(*arguments)

    monkeypatch.setattr(waiting_module, "simulate", noted)
    said = world.waits(QueueView(rescan_seconds=1e6))
    assert len(said) == 10_001
    assert all(waiting.estimated_start for waiting in said.values())
    assert {waiting.of for waiting in said.values()} == {10_001}
    assert 1 <= len(looks) < 500


def test_what_users_change_changes_what_is_said(world: World) -> None:
    agent = KnownAgent("a", ("cpu",))
    world.announce(agent)
    world.submit(Needs("cpu"))
    assert world.claim(agent)
    pks = [world.submit(Needs("cpu")) for _ in range(3)]
    view = QueueView(rescan_seconds=1e6)
    with world.write() as transaction:
        last = store.get_by_pk(transaction, pks[2])
        attempts.change_priority(transaction, last, 1, "a test")
        attempts.cancel(transaction, store.get_by_pk(transaction, pks[0]))
    said = world.waits(view)
    assert {pk: waiting.position for pk, waiting in said.items()} == {pks[2]: 1, pks[1]: 2}
