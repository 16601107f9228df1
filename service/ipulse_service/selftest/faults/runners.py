"""Runners that run out of memory, ignore SIGTERM, leave processes behind, or print without end."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from ipulse.client import Connection
from ipulse_core.states import JobState
from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken
from ipulse_service.selftest.load import Load
from ipulse_service.selftest.processes import is_alive
from ipulse_service.selftest.testbed import Testbed, milliseconds

CGROUPS = Path("/sys/fs/cgroup")
LIMIT_BYTES = 48 * 2**20  # more than a scripted runner needs
END_SECONDS = 90.0

GRACE_SECONDS = 25.0  # the agent's grace, its last requests, and a margin


def limits() -> Path | None:
    """Returns the folder of memory cgroups, None without the right to create one."""
    for folder, control in (
        (CGROUPS / "memory", "memory.limit_in_bytes"),
        (CGROUPS, "cgroup.subtree_control"),
    ):
        path = folder / control
        if path.exists() and os.access(path, os.W_OK) and os.access(folder, os.W_OK):
            is_first = control.startswith("memory")
            if is_first or "memory" in path.read_text().split():
                return folder
    return None


@contextmanager
def limit(folder: Path, size: int) -> Iterator[Path]:
    """Creates a cgroup with a memory limit while the block runs.

    Raises OSError where the kernel does not allow it.
    """
    group = folder / f"ipulse-faults-{os.getpid()}"
    group.mkdir()
    try:
        for control, value in (
            ("memory.limit_in_bytes", size),
            ("memory.memsw.limit_in_bytes", size),  # with swap
            ("memory.max", size),
            ("memory.swap.max", 0),
        ):
            if (group / control).exists():
                (group / control).write_text(str(value))
        yield group
    finally:
        with suppress(OSError):  # a runner that outlived the test is still in it
            group.rmdir()


def starve(testbed: Testbed, random: Random, load: Load, folder: Path) -> Iterator[FaultOutcome]:
    """Limits the memory of one attempt until the kernel kills it; the next attempt has enough.

    Raises PromiseBroken if an agent died too, the job does not report the cause, or it ends wrong.
    """
    before = {name: testbed.pid(name) for name in testbed.agents}
    client = Connection(testbed.stack.url, token_file=testbed.stack.token_path)
    with limit(folder, LIMIT_BYTES) as group, client:
        at = milliseconds()
        spec = load.spec("hoards", 1, does="hoards", cgroup=str(group))
        job = client.job(load.submit(client, "hoards", spec)).wait(END_SECONDS, check=False)
    tried = [one for one in testbed.records.tried() if one.job == job.id]
    yield FaultOutcome("runner killed for lack of memory", at, (tried[0].id,), is_aimed=True)
    if not job.succeeded or [one.reason for one in tried] != ["runner_lost", "completed"]:
        raise PromiseBroken(f"the job without memory became {job.state.value}: {job.message}")
    message = job.json["attempts"][0]["message"]
    if "SIGKILL" not in message or "memory ran out" not in message:
        raise PromiseBroken(f"the lack of memory was not reported: {message}")
    if before != {name: testbed.pid(name) for name in testbed.agents}:
        raise PromiseBroken("an agent ended together with the runner that had no memory left")


def misbehaving_runner(testbed: Testbed, random: Random, load: Load) -> Iterator[FaultOutcome]:
    """Submits misbehaving jobs. Raises PromiseBroken if one ends wrong or leaves a process."""
    with Connection(testbed.stack.url, token_file=testbed.stack.token_path) as client:
        yield FaultOutcome("training ignores SIGTERM", milliseconds())
        job_id = load.submit(client, "deaf", load.spec("deaf", 1, does="ignores_term"))
        load.cancelled.add(job_id)
        for event in client.job(job_id).watch():
            if event.kind == "log" and event.fields["message"] == "deaf":
                break
        pids = [
            pid
            for one in testbed.records.held()
            if one.job == job_id
            for pid in [testbed.runner_of(one.id)]
            if pid
        ]
        client.job(job_id).cancel()
        began = time.monotonic()
        job = client.job(job_id).wait(END_SECONDS, check=False)
        _expect(
            job.state is JobState.CANCELLED,
            f"the deaf job became {job.state.value}",
        )
        _expect(time.monotonic() - began < GRACE_SECONDS, "the deaf job was not killed in time")
        _expect(not any(map(is_alive, pids)), "the deaf runner outlived its job")

        yield FaultOutcome("training double-forks", milliseconds())
        job_id = load.submit(client, "forks", load.spec("forks", 1, does="double_forks"))
        job = client.job(job_id).wait(END_SECONDS, check=False)
        _expect(job.succeeded, f"the job that forks became {job.state.value}: {job.message}")
        left = testbed.execution_log.orphans(job_id)
        _expect(bool(left), "the job that forks left nothing to look for")
        _expect(not any(map(is_alive, left)), "a process that was left behind still runs")

        yield FaultOutcome("training floods its output", milliseconds())
        job_id = load.submit(client, "floods", load.spec("floods", 1, does="floods"))
        job = client.job(job_id).wait(END_SECONDS, check=False)
        _expect(job.succeeded, f"the job that floods became {job.state.value}: {job.message}")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise PromiseBroken(otherwise)
