"""The faults of a plan, except kills, in the order of the groups."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from ipulse_service.selftest.fault_outcome import FaultOutcome
from ipulse_service.selftest.faults.database import (
    fail_over,
    lock_database,
    restart_database,
    step_clock,
)
from ipulse_service.selftest.faults.disks import fill_disk, fill_worker_disk
from ipulse_service.selftest.faults.messages import duplicate, foreign, reorder
from ipulse_service.selftest.faults.runners import limits, misbehaving_runner, starve
from ipulse_service.selftest.faults.slow_broker import slow_broker
from ipulse_service.selftest.faults.split_brain import split_brain, stop_agent
from ipulse_service.selftest.load import Load
from ipulse_service.selftest.plan import Plan
from ipulse_service.selftest.testbed import MEBIBYTES, SMALL_WORK, Testbed


def planned_faults(
    plan: Plan, testbed: Testbed, load: Load, random: Random, skipped: list[str]
) -> Iterator[tuple[str, Iterator[FaultOutcome]]]:
    """Yields the faults that are injected one after another, in the order of the groups."""
    if "messages" in plan.groups:
        yield "messages: duplicated", duplicate(testbed, random)
        yield "messages: reordered", reorder(testbed, random)
        yield "messages: foreign", foreign(testbed, random)
    if "misbehaving-runner" in plan.groups:
        if plan.trains:
            skipped.append("misbehaving-runner: needs the scripted runner; omit --training")
        else:
            yield "misbehaving runner", misbehaving_runner(testbed, random, load)
    if "memory" in plan.groups:
        cgroups = limits()
        if plan.trains or cgroups is None:
            skipped.append("memory: needs the scripted runner, root and cgroups")
        else:
            yield "too little memory", starve(testbed, random, load, cgroups)
    if "split-brain" in plan.groups:
        yield "split brain", split_brain(testbed, random, plan.lease_seconds)
    if "slow-broker" in plan.groups:
        yield "slow Redis", slow_broker(testbed, random)
    if "stopped-agent" in plan.groups:
        yield "stopped agent", stop_agent(testbed, random, plan.lease_seconds)
    if "clock" in plan.groups:
        yield "database's clock set", step_clock(testbed, random, plan.lease_seconds)
    if "locked-database" in plan.groups:
        yield "locked database", lock_database(testbed, random, plan.locked_seconds)
    if "database" in plan.groups:
        if testbed.servers:
            yield "PostgreSQL restarts", restart_database(testbed, testbed.servers, random)
            yield "PostgreSQL fails over", fail_over(testbed, testbed.servers, random)
        else:
            skipped.append("database: needs --postgresql")
    if "disks" in plan.groups:
        if testbed.disks.has(testbed.home / SMALL_WORK):
            yield "full disk: one agent", fill_worker_disk(testbed, random)
        for folder in MEBIBYTES:
            if folder == SMALL_WORK:
                continue
            if testbed.disks.has(testbed.home / folder if folder else testbed.home):
                yield f"full disk: {folder or 'home'}", fill_disk(testbed, random, folder)
            else:
                skipped.append("disks: mounting a small disk needs root and CAP_SYS_ADMIN")
                break
