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
from ipulse_service.selftest.audit import Findings, audit
from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken, rerun_seconds
from ipulse_service.selftest.faults.kills import KILLS
from ipulse_service.selftest.faults.planned import planned_faults
from ipulse_service.selftest.footprint import Footprint, Sample
from ipulse_service.selftest.load import Load
from ipulse_service.selftest.orphan_check import after_a_day, after_the_end
from ipulse_service.selftest.plan import Plan
from ipulse_service.selftest.postgresql import Servers
from ipulse_service.selftest.testbed import Testbed

SCRIPTED = "ipulse_service.selftest.scripted_runner"
KILL_PAUSE_SECONDS = 0.8  # between two kills, on average
PACE_SECONDS = 0.05
REPORT_SECONDS = 20.0
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
        for name, outcomes in planned_faults(plan, testbed, load, random, skipped):
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
