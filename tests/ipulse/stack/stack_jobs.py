"""Stacks for tests, and jobs on them."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from ipulse.client import Connection, JobEvent
from tests.ipulse.stack.guarded import Watched

SOURCE = Path(__file__).parents[3]
ENVIRONMENT = {
    "IPULSE_RUNNER_MODULE": "tests.worker.agent.runners.scripted",
    # Longer than anything takes that is back within a lease, on a busy machine too.
    "IPULSE_LEASE_SECONDS": "60",
    "IPULSE_HEARTBEAT_SECONDS": "0.3",
    "IPULSE_RETRY_SECONDS": "0",
    "IPULSE_RESCAN_SECONDS": "0.5",
}


def submit(client: Connection, behaviour: str) -> str:
    spec = {
        "version": 1,
        "network": {"layers": [{"neurons": 8}]},
        "metadata": {"behaviour": behaviour},
    }
    return client.submit(spec).id


def states(client: Connection) -> dict[str, str]:
    return {agent.name: agent.state for agent in client.agents()}


def follow_until(client: Connection, job_id: str, text: str, attempt: int = 1) -> JobEvent:
    """The first log line of the attempt that begins so."""
    for event in client.job(job_id).watch():
        is_meant = event.kind == "log" and event.json["attempt"] == attempt
        if is_meant and event.json["message"].startswith(text):
            return event
    raise AssertionError(f"the job ended without {text!r}")


def runner_of(client: Connection, job_id: str, attempt: int = 1) -> Watched:
    return Watched(int(follow_until(client, job_id, "pid", attempt).json["message"].split()[1]))


def stack_in_another_process(home: Path, then: str) -> subprocess.Popen[str]:
    code = f"""
        import time
        from ipulse.stack.stack import Stack
        with Stack({str(home)!r}, environment={ENVIRONMENT!r}) as stack:
            print(*(process.pid for process in stack.processes.values()), flush=True)
            {then}
        """
    return subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=SOURCE,
    )


def pids_printed_by(starter: subprocess.Popen[str]) -> list[int]:
    assert starter.stdout is not None
    return [int(pid) for pid in starter.stdout.readline().split()]


def wait_until_caught(pid: int, number: signal.Signals) -> None:
    """Until then the signal would end the process before it could be asked anything."""
    while True:
        status = Path(f"/proc/{pid}/status").read_text()
        caught = int(status.split("SigCgt:")[1].split()[0], 16)
        if caught & 1 << (number - 1):
            return
        time.sleep(0.01)
