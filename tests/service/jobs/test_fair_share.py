"""Fair share and device quotas: simulated days of a lab, on a clock that the test sets."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert

from ipulse_core.quotas import Quota
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db import migrations
from ipulse_service.db.engine import Database
from ipulse_service.db.tables import quotas
from ipulse_service.jobs.queue import claims, fair_share
from ipulse_service.jobs.queue.fair_share import QueuedJob, Standing
from ipulse_service.jobs.queue.waiting import QueueView
from ipulse_service.quotas import usage
from ipulse_service.quotas.store import Scope
from tests.service.jobs.queue_world import BEGIN, World

HOUR = 3_600_000
Account = tuple[str, str]


@contextmanager
def new_world() -> Iterator[World]:
    # In memory: each of the many commits would wait for a disk.
    memory = Path("/dev/shm")  # noqa: S108 - the folder within it has a random name
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        database = Database(f"sqlite:///{Path(folder) / 'ipulse.db'}")
        migrations.upgrade(database)
        yield World(database)
        database.close()


@pytest.fixture
def world() -> Iterator[World]:
    with new_world() as made:
        yield made


def limit(world: World, name: Quota, value: int, project: str = "", principal: str = "") -> None:
    row = {"project": project, "principal": principal, "name": name.value, "value": value}
    with world.write() as transaction:
        transaction.connection.execute(insert(quotas), row)


@dataclass
class Lab:
    """Agents that always take the next job; jobs last as long as was said."""

    world: World
    agents: list[KnownAgent]
    used: Counter[Account]
    starts: dict[int, int]

    def run(self, until: int, lasts: dict[int, int]) -> None:
        """Lets agents claim and end jobs up to a time."""
        world = self.world
        running: list[tuple[int, int, KnownAgent, claims.Claim]] = []
        free = list(self.agents)
        while world.now < until:
            for agent in list(free):
                claim = world.claim(agent)
                if claim is None:
                    break
                pk = claim.job.pk
                assert pk not in self.starts, "a job ran twice"
                self.starts[pk] = world.now
                free.remove(agent)
                running.append((world.now + lasts[pk], pk, agent, claim))
            if not running:
                return
            running.sort(key=lambda one: one[:2])
            end, pk, agent, claim = running.pop(0)
            world.now = end
            world.end(claim)
            self.used[claim.job.project, claim.job.owner] += lasts[pk]
            free.append(agent)


def entry(priority: int, queued_at: int, pk: int, ipus: int, account: Account) -> QueuedJob:
    return QueuedJob(priority, queued_at, pk, *Needs("cpu", ipus), 0, *account)


ACCOUNTS: list[Account] = [("audio", "ada"), ("audio", "bea"), ("vision", "cem"), ("vision", "ada")]


def simulate_days(
    world: World, days: int, agents: int, shares: dict[str, int], minutes: list[int]
) -> Lab:
    """Runs a lab in which everybody always has jobs that wait."""
    for project, share in shares.items():
        limit(world, Quota.SHARE, share, project)
    lab = Lab(
        world, [KnownAgent(f"a{number}", ("cpu",)) for number in range(agents)], Counter(), {}
    )
    for agent in lab.agents:
        world.announce(agent)
    lasts: dict[int, int] = {}
    wanted = days * 24 * HOUR * agents
    for number, (project, owner) in enumerate(ACCOUNTS):
        queued = 0
        while queued <= wanted:
            last = minutes[(len(lasts) + number) % len(minutes)] * 60_000
            lasts[world.submit(Needs("cpu"), 0, project, owner)] = last
            queued += last
    lab.run(BEGIN + days * 24 * HOUR, lasts)
    return lab


def check_shares(lab: Lab, shares: dict[str, int], minutes: list[int]) -> None:
    """Each project has its share within a tenth, and so has each owner within it.

    One job more or less is as fair as it can be: jobs are not divided.
    """
    total, job = sum(lab.used.values()), max(minutes) * 60_000
    for project, share in shares.items():
        got = sum(ms for (name, _), ms in lab.used.items() if name == project)
        part = total * share / sum(shares.values())
        assert abs(got - part) <= 0.1 * part + job, lab.used
        owners = [ms for (name, _), ms in lab.used.items() if name == project]
        assert max(owners) <= 1.2 * min(owners) + job, lab.used


def test_projects_and_people_get_their_shares(world: World) -> None:
    shares = {"audio": 2, "vision": 1}
    minutes = [150, 240, 180]
    check_shares(simulate_days(world, 3, 2, shares, minutes), shares, minutes)


@pytest.mark.verify
@settings(max_examples=6, deadline=None)
@given(
    shares=st.fixed_dictionaries({"audio": st.integers(1, 4), "vision": st.integers(1, 4)}),
    agents=st.integers(1, 5),
    minutes=st.lists(st.integers(20, 240), min_size=1, max_size=5),
)
def test_a_week_gives_everybody_their_share(
    shares: dict[str, int], agents: int, minutes: list[int]
) -> None:
    with new_world() as world:
        check_shares(simulate_days(world, 7, agents, shares, minutes), shares, minutes)


def test_n10_one_who_floods_does_not_keep_others_waiting(world: World) -> None:
    """A job of somebody who has used less starts as soon as an agent is free."""
    agent = KnownAgent("a", ("cpu",))
    world.announce(agent)
    flood = [world.submit(Needs("cpu"), 0, "audio", "ada") for _ in range(30)]
    world.now += 1
    claim = world.claim(agent)
    assert claim is not None
    assert claim.job.pk == flood[0]
    late = world.submit(Needs("cpu"), 0, "vision", "cem")
    said = world.waits(QueueView(rescan_seconds=1e6))
    assert (said[late].position, said[late].reason) == (1, "device_busy")
    assert said[flood[1]].reason == "fair_share"
    assert "audio" in said[flood[1]].detail
    assert "50%" in said[flood[1]].detail
    world.now += HOUR
    world.end(claim)
    following = world.claim(agent)
    assert following is not None
    assert following.job.pk == late


@settings(max_examples=60, deadline=None)
@given(
    jobs=st.lists(
        st.tuples(
            st.sampled_from((-1, 0, 0, 0, 5)),
            st.integers(0, 10_000_000),
            st.sampled_from(ACCOUNTS),
            st.sampled_from((0, 1, 4)),
        ),
        max_size=40,
    ),
    used=st.dictionaries(st.sampled_from(ACCOUNTS), st.floats(0, 1e9)),
    share=st.integers(0, 3),
)
def test_n7_the_order_of_the_queue_is_that_of_its_picks(
    jobs: list[tuple[int, int, Account, int]], used: dict[Account, float], share: int
) -> None:
    """`in_order` is what one gets who takes the smallest key again and again."""
    entries = [
        entry(priority, queued_at, pk, ipus, account)
        for pk, (priority, queued_at, account, ipus) in enumerate(jobs)
    ]

    def standing() -> Standing:
        made = Standing(0, limits={Scope("audio"): {Quota.SHARE: share}})
        for (project, owner), ms in used.items():
            made.charge(entry(0, 0, 0, 0, (project, owner)), ms)
        return made

    ordered = list(standing().in_order(entries))
    now, left, picked = standing(), list(entries), []
    while left:
        first = min(left, key=now.key)
        left.remove(first)
        picked.append(first)
        now.charge(first, max(1, first.ipus) * fair_share.ENTRY_MS)
    assert ordered == picked


def test_device_quotas_hold_and_say_until_when(world: World) -> None:
    agents = [KnownAgent(f"a{number}", ("cpu",)) for number in range(3)]
    for agent in agents:
        world.announce(agent)
    limit(world, Quota.DEVICES, 1, "audio")
    limit(world, Quota.DEVICE_SECONDS, 3600, principal="cem")
    first, second = [world.submit(Needs("cpu"), 0, "audio", who) for who in ("ada", "bea")]
    third = world.submit(Needs("cpu"), 0, "vision", "cem")
    held = {claim.job.pk: claim for agent in agents if (claim := world.claim(agent))}
    assert held.keys() == {first, third}
    waiting = world.waits(QueueView(rescan_seconds=1e6))[second]
    assert waiting.reason == "quota"
    assert "1 devices" in waiting.detail
    world.now += HOUR
    world.end(held[first])
    claim = world.claim(agents[0])
    assert claim is not None
    assert claim.job.pk == second
    world.end(held[third])
    late = world.submit(Needs("cpu"), 9, "vision", "cem")
    assert world.claim(agents[1]) is None
    waiting = world.waits(QueueView(rescan_seconds=1e6))[late]
    assert (waiting.reason, waiting.estimated_start) == ("quota", usage.next_month(world.now))
    world.now = usage.next_month(world.now)
    for agent in agents:
        world.announce(agent)
    claim = world.claim(agents[1])
    assert claim is not None
    assert claim.job.pk == late


def test_a_smaller_job_passes_one_for_which_devices_are_missing(world: World) -> None:
    agent = KnownAgent("a", ("emulator",), ipus={"emulator": 4})
    world.announce(agent)
    limit(world, Quota.DEVICES, 2, principal="ada")
    world.submit(Needs("emulator", 4), 0, "audio", "ada")
    small = world.submit(Needs("emulator", 2), 0, "audio", "ada")
    claim = world.claim(agent)
    assert claim is not None
    assert claim.job.pk == small


def test_without_fair_share_the_order_is_that_of_submission(world: World) -> None:
    world.database.usage_half_life_ms = 0
    agent = KnownAgent("a", ("cpu",))
    world.announce(agent)
    flood = [world.submit(Needs("cpu"), 0, "audio", "ada") for _ in range(3)]
    world.now += 1
    late = world.submit(Needs("cpu"), 0, "vision", "cem")
    taken = []
    for _ in range(4):
        claim = world.claim(agent)
        assert claim is not None
        taken.append(claim.job.pk)
        world.now += HOUR
        world.end(claim)
    assert taken == [*flood, late]


def test_n32_jobs_of_one_person_start_by_priority_and_submission(world: World) -> None:
    agent = KnownAgent("a", ("cpu",))
    world.announce(agent)
    first, second, urgent = [world.submit(Needs("cpu"), priority) for priority in (0, 0, 5)]
    taken = []
    for _ in range(3):
        claim = world.claim(agent)
        assert claim is not None
        taken.append(claim.job.pk)
        world.now += HOUR
        world.end(claim)
    assert taken == [urgent, first, second]
