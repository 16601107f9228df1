"""The database's clock is set while no process of the service runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse_service.background.reaper import Reaper
from ipulse_service.db.engine import Database
from ipulse_service.jobs import leases, losses
from ipulse_service.jobs.queue import claims
from ipulse_service.settings import Settings
from tests.service.db.clock_world import STEPS, World

pytestmark = pytest.mark.postgresql

LEASE_MS = 15_000
SCAN_MS = 500


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_measured_by_the_machines_own_clock(world: World, step: int) -> None:
    if world.has_own_clock:
        pytest.skip("the clock of PostgreSQL may be that of another machine")
    world.remember()
    world.pass_ms(100_000)
    world.set_clock(step)
    later = world.process()
    for writing in (False, False, True, False):
        assert world.now(later, writing) == world.passed
        world.pass_ms(700)
    world.set_clock(0)
    assert world.now(world.process(), writing=False) == world.passed
    assert world.now(later) == world.passed


@pytest.mark.parametrize("step", STEPS)
def test_after_a_restart_of_the_machine_time_does_not_go_back(world: World, step: int) -> None:
    world.pass_ms(50_000)
    world.remember()
    remembered = world.passed
    world.pass_ms(100_000)
    world.set_clock(step)
    assert world.now(world.process("second", world.passed), writing=False) >= remembered


class Run:
    """A run of the service: a reaper that scans when a test says so."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.reaper = Reaper(database, settings)

    def claim(self, world: World, agent: str) -> claims.Claim:
        job = world.submit()
        with self.database.write() as transaction:
            return claims.claim(transaction, job.id, agent, ["cpu"], LEASE_MS / 1000)

    def heartbeat(self, claim: claims.Claim) -> None:
        with self.database.write() as transaction:
            held = losses.hold(transaction, claim.attempt.id, claim.fence, 60.0)
            leases.renew(transaction, held, LEASE_MS / 1000)

    def is_held(self, claim: claims.Claim) -> bool:
        with self.database.read() as transaction:
            attempt = leases.check_fence(transaction, claim.attempt.id, claim.fence)
        return attempt.finished_at is None


@pytest.mark.parametrize("stopped", [3_000, 60_000], ids=["briefly", "longer than a lease"])
@pytest.mark.parametrize("boot", ["first", "second"])
@pytest.mark.parametrize("step", [0, *STEPS])
def test_only_a_dead_agent_loses_its_lease(
    world: World, tmp_path: Path, step: int, boot: str, stopped: int
) -> None:
    settings = Settings(home=tmp_path, lease_seconds=LEASE_MS / 1000)
    first = Run(world.database, settings)
    living, dead = (first.claim(world, agent) for agent in ("living", "dead"))
    first.reaper.reap()
    world.pass_ms(stopped)
    world.set_clock(step)
    booted_at = 0 if boot == "first" else world.passed - 1_000
    later = Run(world.process(boot, booted_at), settings)
    begun = world.passed
    # On a database that replicas share, the agent may talk to another one, which does not listen.
    longest = LEASE_MS + SCAN_MS + (leases.TAKEOVER_MS if world.has_own_clock else 0)
    while later.is_held(dead):
        assert world.passed - begun <= longest
        later.reaper.reap()
        later.heartbeat(living)  # fails if it has lost its lease
        world.pass_ms(SCAN_MS)
    assert later.is_held(living)
    # It was not listened to while the service was stopped, so that its lease is a whole one.
    assert world.passed - begun >= LEASE_MS
