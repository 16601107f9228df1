"""A run of the suite: a stack under load, faults at random times, and an audit."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from ipulse_core.errors import IPUlseError
from ipulse_service.selftest import GROUPS
from ipulse_service.selftest.audit import Findings, audit
from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken, rerun_seconds
from ipulse_service.selftest.faults.clock_steps import step_clock
from ipulse_service.selftest.faults.failover import fail_over, restart_database
from ipulse_service.selftest.faults.hangs import fill_disk, lock_database, stop_agent
from ipulse_service.selftest.faults.kills import KILLS
from ipulse_service.selftest.faults.memory import limits, starve
from ipulse_service.selftest.faults.messages import duplicate, foreign, reorder
from ipulse_service.selftest.faults.misbehaving_runner import misbehaving_runner
from ipulse_service.selftest.faults.slow_broker import slow_broker
from ipulse_service.selftest.faults.split_brain import split_brain
from ipulse_service.selftest.faults.worker_disk import fill_worker_disk
from ipulse_service.selftest.footprint import Footprint, Sample
from ipulse_service.selftest.load import Load
from ipulse_service.selftest.orphan_check import after_a_day, after_the_end
from ipulse_service.selftest.postgresql import Servers
from ipulse_service.selftest.testbed import MEBIBYTES, SMALL_WORK, Testbed

SCRIPTED = "ipulse_service.selftest.scripted_runner"
KILL_PAUSE_SECONDS = 0.8  # between two kills, on average
PACE_SECONDS = 0.05
REPORT_SECONDS = 20.0
LOCKED_SECONDS = 30.0
DRAIN_SECONDS = 600.0  # on a busy machine a slow job is not lost
STEPS, STEP_MS = 20, 40  # of a scripted job

_SCRIPTED_SPEC: dict[str, Any] = {
    "version": 1,
    "network": {"layers": [{"neurons": 4}]},
    "metadata": {"steps": str(STEPS), "step_ms": str(STEP_MS)},
}
_TRAINING_SPEC: dict[str, Any] = {
    "version": 1,
    "data": {"kind": "digits", "samples": 200, "steps": 10},
    "network": {"layers": [{"neurons": 16, "second_threshold": 0.5}]},
    "training": {"epochs": 20, "batch_size": 32, "checkpoint_epochs": 2},
    "device": {"kind": "cpu", "threads": 1},
}


@dataclass(frozen=True)
class Plan:
    """The faults to inject. The same plan gives the same choices, at other times."""

    seed: int
    kills: int
    jobs: int = 0  # minimum number of accepted jobs, over which the kills are spread
    groups: tuple[str, ...] = GROUPS
    agents: int = 4
    lease_seconds: float = 15.0
    locked_seconds: float = LOCKED_SECONDS
    trains: bool = False  # with the real runner instead of the scripted one
    postgresql: bool = False  # with a server and a standby instead of SQLite


@dataclass(frozen=True)
class Outcome:
    """The injected faults and their consequences."""

    plan: Plan
    faults: list[FaultOutcome]
    reruns: dict[str, list[float]]  # seconds, by kind of fault
    findings: Findings
    accepted: int
    clock_error_seconds: float  # the largest of any process
    memory: dict[str, list[Sample]]  # by process, the series with the most jobs
    statuses: dict[int, int]  # status codes that the probe received, and how often
    skipped: list[str]  # groups that could not run here, with the reason
    seconds: float
    logs: Path | None  # kept if something was found


def run(plan: Plan, say: Callable[[str], None]) -> Outcome:
    """Runs a plan in a temporary folder, in the main thread. No process is left running.

    Raises IPUlseError if the stack cannot be started, or not again; says then what is kept.
    """
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="ipulse-faults-"))
    template = _TRAINING_SPEC if plan.trains else _SCRIPTED_SPEC
    testbed = Testbed(
        folder,
        plan.agents,
        "" if plan.trains else SCRIPTED,
        "disks" in plan.groups,
        template,
        plan.lease_seconds,
        Servers() if plan.postgresql else None,
    )
    logs = folder / "logs"
    try:
        with testbed, _kept_on_error(testbed, logs, say):
            load = testbed.load(plan.seed, waiting=max(2, plan.agents // 2), varies=not plan.trains)
            footprint = Footprint(lambda: testbed.stack.processes, lambda: len(load.accepted))
            with testbed.probe() as probe, footprint:
                faults, skipped, broken = _inflict(plan, testbed, load, say)
            broken += probe.broken
            stopped = {
                attempt for one in faults if one.kind.startswith("stop") for attempt in one.attempts
            }
            steps = 0 if plan.trains else STEPS
            findings = audit(testbed, load.accepted, load.cancelled, stopped, steps)
            findings.broken += [*broken, *(f"{key}: no answer" for key in load.unanswered)]
            reruns = rerun_seconds(faults, testbed.records.tried())
            clock_error = max(map(abs, testbed.clock_errors()), default=0.0)
            findings.broken += after_a_day(testbed)
            testbed.stack.stop()
            findings.broken += after_the_end(testbed)
            if not findings.is_clean:
                _keep(testbed, logs)
    finally:
        if not logs.exists():
            shutil.rmtree(folder)
    return Outcome(
        plan=plan,
        faults=faults,
        reruns=reruns,
        findings=findings,
        accepted=len(load.accepted),
        clock_error_seconds=clock_error,
        memory=footprint.longest(),
        statuses=dict(sorted(probe.statuses.items())),
        skipped=skipped,
        seconds=time.monotonic() - began,
        logs=folder if logs.exists() else None,
    )


@contextmanager
def _kept_on_error(testbed: Testbed, logs: Path, say: Callable[[str], None]) -> Iterator[None]:
    try:
        yield
    except Exception:
        testbed.stack.stop()  # or the database's file would be incomplete
        _keep(testbed, logs)
        say(f"Logs and database are kept in {logs.parent}.")
        raise


def _keep(testbed: Testbed, logs: Path) -> None:
    """Copies logs and database out of the home: its disks are unmounted with the testbed."""
    shutil.copytree(testbed.home / "logs", logs)
    testbed.records.keep(logs.parent)


def _inflict(
    plan: Plan, testbed: Testbed, load: Load, say: Callable[[str], None]
) -> tuple[list[FaultOutcome], list[str], list[str]]:
    random = Random(plan.seed)
    faults: list[FaultOutcome] = []
    skipped: list[str] = []
    broken: list[str] = []
    load.start()
    try:
        kills = plan.kills if "kills" in plan.groups else 0
        faults += _kill(kills, plan.jobs, testbed, load, random, say)
        for name, outcomes in _in_turn(plan, testbed, load, random, skipped):
            say(name)
            try:
                faults.extend(outcomes)
            except (PromiseBroken, IPUlseError, TimeoutError) as error:
                broken.append(f"{name}: {error}")
    finally:
        try:
            testbed.all_up()
        finally:
            load.stop()  # its threads would keep this process alive
    load.check()
    say("waiting for every job to end")
    deadline = time.monotonic() + DRAIN_SECONDS
    while testbed.records.unfinished() and time.monotonic() < deadline:
        time.sleep(0.1)
    return faults, skipped, broken


def _kill(
    count: int,
    jobs: int,
    testbed: Testbed,
    load: Load,
    random: Random,
    say: Callable[[str], None],
) -> list[FaultOutcome]:
    faults: list[FaultOutcome] = []
    kinds, weights = list(KILLS), list(KILLS.values())
    reported = time.monotonic()
    while len(faults) < count or len(load.accepted) < jobs:
        load.check()
        if time.monotonic() > reported + REPORT_SECONDS:
            reported = time.monotonic()
            say(f"{len(load.accepted)} jobs accepted, {len(faults)} of {count} kills")
        if len(faults) * jobs >= count * len(load.accepted):
            time.sleep(PACE_SECONDS)  # kills keep pace with the jobs
            continue
        time.sleep(random.expovariate(1 / KILL_PAUSE_SECONDS))
        fault = random.choices(kinds, weights)[0](testbed, random)
        if fault is not None:
            faults.append(fault)
    testbed.all_up()
    return faults


def _in_turn(
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
