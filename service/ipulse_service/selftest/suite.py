"""One run: a stack under load, faults at random moments, and the reckoning."""

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
from ipulse_service.selftest.failover import fail_over, restart_database
from ipulse_service.selftest.fault_outcome import Injury, rerun_seconds
from ipulse_service.selftest.footprint import Footprint, Sample
from ipulse_service.selftest.hangs import fill_disk, lock_database, stop_agent
from ipulse_service.selftest.kills import KILLS
from ipulse_service.selftest.load import Load
from ipulse_service.selftest.memory import limits, starve
from ipulse_service.selftest.messages import duplicate, foreign, reorder
from ipulse_service.selftest.misbehaving_runner import hostile
from ipulse_service.selftest.orphan_check import after_a_day, after_the_end
from ipulse_service.selftest.postgresql import Servers
from ipulse_service.selftest.slow_broker import slow_broker
from ipulse_service.selftest.split_brain import Broken, rivals
from ipulse_service.selftest.testbed import MEBIBYTES, Stand

SCRIPTED = "ipulse_service.selftest.scripted_runner"
KILL_PAUSE_SECONDS = 0.8  # between two kills, on average
PACE_SECONDS = 0.05
TELL_SECONDS = 20.0
LOCKED_SECONDS = 30.0
DRAIN_SECONDS = 600.0  # a busy machine is slow, and what is slow is not lost
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
    """What is to be done; the same plan gives the same choices, though never the same moments."""

    seed: int
    kills: int
    jobs: int = 0  # to be accepted at least, with the kills spread over them
    groups: tuple[str, ...] = GROUPS
    agents: int = 4
    lease_seconds: float = 15.0
    locked_seconds: float = LOCKED_SECONDS
    trains: bool = False  # on the real runner, else a scripted one
    postgresql: bool = False  # with a server of its own and a standby, else SQLite


@dataclass(frozen=True)
class Outcome:
    """What was done to the stack and what came of it."""

    plan: Plan
    injuries: list[Injury]
    reruns: dict[str, list[float]]  # seconds, by kind of fault
    findings: Findings
    accepted: int
    clock_error_seconds: float  # the greatest of any part
    memory: dict[str, list[Sample]]  # of each part, in the life of most jobs
    statuses: dict[int, int]  # that somebody was answered who only looked on, and how often
    skipped: list[str]  # what could not be done here, and why
    seconds: float
    logs: Path | None  # kept where something was found


def run(plan: Plan, say: Callable[[str], None]) -> Outcome:
    """Runs a plan in a folder of its own; to be called by the main thread. Nothing is left running.

    Raises IPUlseError if the stack cannot be started, or not again; says then what is kept.
    """
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="ipulse-faults-"))
    template = _TRAINING_SPEC if plan.trains else _SCRIPTED_SPEC
    stand = Stand(
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
        with stand, _kept_on_error(stand, logs, say):
            load = stand.load(plan.seed, waiting=max(2, plan.agents // 2), varies=not plan.trains)
            footprint = Footprint(lambda: stand.stack.processes, lambda: len(load.accepted))
            with stand.probe() as probe, footprint:
                injuries, skipped, broken = _inflict(plan, stand, load, say)
            broken += probe.broken
            stopped = {
                attempt
                for one in injuries
                if one.kind.startswith("stop")
                for attempt in one.attempts
            }
            steps = 0 if plan.trains else STEPS
            findings = audit(stand, load.accepted, load.cancelled, stopped, steps)
            findings.broken += [*broken, *(f"{key}: no answer" for key in load.unanswered)]
            reruns = rerun_seconds(injuries, stand.records.tried())
            clock_error = max(map(abs, stand.clock_errors()), default=0.0)
            findings.broken += after_a_day(stand)
            stand.stack.stop()
            findings.broken += after_the_end(stand)
            if not findings.is_clean:
                _keep(stand, logs)
    finally:
        if not logs.exists():
            shutil.rmtree(folder)
    return Outcome(
        plan=plan,
        injuries=injuries,
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
def _kept_on_error(stand: Stand, logs: Path, say: Callable[[str], None]) -> Iterator[None]:
    try:
        yield
    except Exception:
        stand.stack.stop()  # or the database's file would not have all
        _keep(stand, logs)
        say(f"Logs and database are kept in {logs.parent}.")
        raise


def _keep(stand: Stand, logs: Path) -> None:
    """Logs and database, beside the home, whose disks go with the stand."""
    shutil.copytree(stand.home / "logs", logs)
    stand.records.keep(logs.parent)


def _inflict(
    plan: Plan, stand: Stand, load: Load, say: Callable[[str], None]
) -> tuple[list[Injury], list[str], list[str]]:
    random = Random(plan.seed)
    injuries: list[Injury] = []
    skipped: list[str] = []
    broken: list[str] = []
    load.start()
    try:
        kills = plan.kills if "kills" in plan.groups else 0
        injuries += _kill(kills, plan.jobs, stand, load, random, say)
        for name, fault in _others(plan, stand, load, random, skipped):
            say(name)
            try:
                for injury in fault:
                    injuries.append(injury)
            except (Broken, IPUlseError, TimeoutError) as error:
                broken.append(f"{name}: {error}")
    finally:
        try:
            stand.all_up()
        finally:
            load.stop()  # its threads would keep this process for ever
    load.check()
    say("waiting for every job to end")
    deadline = time.monotonic() + DRAIN_SECONDS
    while stand.records.unfinished() and time.monotonic() < deadline:
        time.sleep(0.1)
    return injuries, skipped, broken


def _kill(
    count: int,
    jobs: int,
    stand: Stand,
    load: Load,
    random: Random,
    say: Callable[[str], None],
) -> list[Injury]:
    injuries: list[Injury] = []
    kinds, weights = list(KILLS), list(KILLS.values())
    told = time.monotonic()
    while len(injuries) < count or len(load.accepted) < jobs:
        load.check()
        if time.monotonic() > told + TELL_SECONDS:
            told = time.monotonic()
            say(f"{len(load.accepted)} jobs accepted, {len(injuries)} of {count} kills")
        if len(injuries) * jobs >= count * len(load.accepted):
            time.sleep(PACE_SECONDS)  # as large a share of the kills is done as of the jobs
            continue
        time.sleep(random.expovariate(1 / KILL_PAUSE_SECONDS))
        injury = random.choices(kinds, weights)[0](stand, random)
        if injury is not None:
            injuries.append(injury)
    stand.all_up()
    return injuries


def _others(
    plan: Plan, stand: Stand, load: Load, random: Random, skipped: list[str]
) -> Iterator[tuple[str, Iterator[Injury]]]:
    """The faults that come one after another, in the order of the groups."""
    if "messages" in plan.groups:
        yield "messages: duplicated", duplicate(stand, random)
        yield "messages: reordered", reorder(stand, random)
        yield "messages: foreign", foreign(stand, random)
    if "hostile" in plan.groups:
        if plan.trains:
            skipped.append("hostile: real training has manners; run it without --training")
        else:
            yield "hostile training", hostile(stand, random, load)
    if "memory" in plan.groups:
        cgroups = limits()
        if plan.trains or cgroups is None:
            skipped.append("memory: it takes the scripted runner, root and cgroups")
        else:
            yield "too little memory", starve(stand, random, load, cgroups)
    if "rivals" in plan.groups:
        yield "two agents, two reapers", rivals(stand, random, plan.lease_seconds)
    if "slow" in plan.groups:
        yield "slow Redis", slow_broker(stand, random)
    if "stop" in plan.groups:
        yield "stopped agent", stop_agent(stand, random, plan.lease_seconds)
    if "lock" in plan.groups:
        yield "locked database", lock_database(stand, random, plan.locked_seconds)
    if "database" in plan.groups:
        if stand.servers:
            yield "PostgreSQL restarts", restart_database(stand, stand.servers, random)
            yield "PostgreSQL fails over", fail_over(stand, stand.servers, random)
        else:
            skipped.append("database: it takes --postgresql")
    if "disks" in plan.groups:
        for folder in MEBIBYTES:
            if stand.disks.has(stand.home / folder if folder else stand.home):
                yield f"full disk: {folder or 'home'}", fill_disk(stand, random, folder)
            else:
                skipped.append("disks: mounting a small one takes root and CAP_SYS_ADMIN")
                break
