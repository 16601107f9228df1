"""Runners that ignore SIGTERM, leave processes behind, or print without end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random

from ipulse.client import Client
from ipulse_core.states import JobState
from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken
from ipulse_service.selftest.load import Load
from ipulse_service.selftest.processes import is_alive
from ipulse_service.selftest.testbed import Testbed, milliseconds

END_SECONDS = 90.0
GRACE_SECONDS = 25.0  # the agent's grace, its last requests, and a margin


def misbehaving_runner(testbed: Testbed, random: Random, load: Load) -> Iterator[FaultOutcome]:
    """Submits misbehaving jobs. Raises PromiseBroken if one ends wrong or leaves a process."""
    with Client(testbed.stack.url, token_file=testbed.stack.token_path) as client:
        yield FaultOutcome("training ignores SIGTERM", milliseconds())
        job_id = load.submit(client, "deaf", load.spec("deaf", 1, does="ignores_term"))
        load.cancelled.add(job_id)
        for event in client.watch(job_id):
            if event.kind == "log" and event.fields["message"] == "deaf":
                break
        pids = [
            pid
            for one in testbed.records.held()
            if one.job == job_id
            for pid in [testbed.runner_of(one.id)]
            if pid
        ]
        client.cancel(job_id)
        began = time.monotonic()
        job = client.wait(job_id, END_SECONDS)
        _expect(
            job.state is JobState.CANCELLED,
            f"the deaf job became {job.state.value}",
        )
        _expect(time.monotonic() - began < GRACE_SECONDS, "the deaf job was not killed in time")
        _expect(not any(map(is_alive, pids)), "the deaf runner outlived its job")

        yield FaultOutcome("training double-forks", milliseconds())
        job_id = load.submit(client, "forks", load.spec("forks", 1, does="double_forks"))
        job = client.wait(job_id, END_SECONDS)
        _expect(job.succeeded, f"the job that forks became {job.state.value}: {job.message}")
        left = testbed.execution_log.orphans(job_id)
        _expect(bool(left), "the job that forks left nothing to look for")
        _expect(not any(map(is_alive, left)), "a process that was left behind still runs")

        yield FaultOutcome("training floods its output", milliseconds())
        job_id = load.submit(client, "floods", load.spec("floods", 1, does="floods"))
        job = client.wait(job_id, END_SECONDS)
        _expect(job.succeeded, f"the job that floods became {job.state.value}: {job.message}")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise PromiseBroken(otherwise)
