"""Checks what became of each accepted job: its rows, its files and its runners."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ipulse_core.states import TERMINAL, JobState
from ipulse_service.selftest.scripted_runner import weights_after
from ipulse_service.selftest.testbed import Testbed


@dataclass
class Findings:
    """Ids of jobs, and sentences about broken guarantees."""

    states: dict[str, int] = field(default_factory=dict)  # number of accepted jobs by final state
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)  # two attempts completed
    overlapping: list[str] = field(default_factory=list)  # two runners at once
    broken: list[str] = field(default_factory=list)
    weights: set[str] = field(default_factory=set)  # digests; all must be equal

    @property
    def is_clean(self) -> bool:
        """Return whether no guarantee was broken."""
        return not (self.lost or self.doubled or self.overlapping or self.broken)


def audit(
    testbed: Testbed,
    accepted: Mapping[str, str],
    cancelled: Collection[str],
    stopped: Collection[str],
    steps: int,
) -> Findings:
    """Checks every job. `accepted` has ids by key; `stopped` attempts outslept their lease.

    `steps` are those of a scripted job; 0 for real training, where all jobs are the same.
    """
    found = Findings()
    rows = {row[1]: row for row in testbed.records.jobs()}
    for job_id in accepted.values():
        row = rows.get(job_id)
        state = "missing" if row is None else str(row[2])
        found.states[state] = found.states.get(state, 0) + 1
        may_be = {JobState.SUCCEEDED.value} | (
            {JobState.CANCELLED.value} if job_id in cancelled else set()
        )
        if state not in may_be:
            found.lost.append(f"{job_id} ({state}{'' if row is None else f', {row[3]}'})")
    for job_id in set(rows) - set(accepted.values()):
        found.broken.append(f"{job_id} was made by no key, or twice by one")
    if len(set(accepted.values())) != len(accepted):
        found.broken.append("two keys were answered with one job")
    for row in rows.values():
        _check_job(testbed, row, steps, found)
    _check_runners(testbed, stopped, found)
    if len(found.weights) > 1:
        found.broken.append(f"one spec and seed gave {len(found.weights)} different weights")
    if not testbed.records.sound():
        found.broken.append("the database's file is damaged")
    return found


def _check_job(testbed: Testbed, row: tuple[Any, ...], steps: int, found: Findings) -> None:
    pk, job_id, state, _, last_seq, attempt = row
    events = testbed.records.events(pk)
    if [seq for seq, _, _ in events] != list(range(1, last_seq + 1)):
        found.broken.append(f"{job_id}: its events have a gap")
    states = [json.loads(body)["state"] for _, kind, body in events if kind == "state"]
    ends = [one for one in states if JobState(one) in TERMINAL]
    completed = [one for one in testbed.records.tried_of(pk) if one.reason == "completed"]
    if len(completed) > 1 or len(ends) > 1:
        found.doubled.append(job_id)
    if ends and states[-1] != ends[0]:
        found.broken.append(f"{job_id}: something came after its end")
    if state != JobState.SUCCEEDED.value:
        return
    roles: set[str] = set()
    for number, role, sha256, size in testbed.records.artifacts(pk):
        if number != attempt:
            continue
        roles.add(role)
        path = testbed.home / "artifacts" / "sha256" / sha256[:2] / sha256
        content = path.read_bytes() if path.exists() else b""
        if hashlib.sha256(content).hexdigest() != sha256 or len(content) != size:
            found.broken.append(f"{job_id}: its {role} is not what was stored")
        if role == "weights" and not steps:
            found.weights.add(sha256)
        elif role == "weights" and content.decode() != weights_after(job_id, steps):
            found.broken.append(f"{job_id}: its weights are not those of an undisturbed run")
    if "manifest" not in roles or "weights" not in roles:
        found.broken.append(f"{job_id}: it succeeded without its files")


def _check_runners(testbed: Testbed, stopped: Collection[str], found: Findings) -> None:
    asleep = {(one.job, one.number) for one in testbed.records.tried() if one.id in stopped}
    for job_id, spans in testbed.execution_log.spans().items():
        for earlier, later in itertools.pairwise(spans):
            if earlier.last > later.first and (job_id, earlier.attempt) not in asleep:
                found.overlapping.append(job_id)
