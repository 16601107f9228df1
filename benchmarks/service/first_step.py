"""Measure the time from a submission to the first training step, with a warm runner and without.

    python -m benchmarks.service first-step --jobs 20

The stack and the runner are real, the network is tiny. Each job is submitted when the agent is
idle and its warm runner has imported TensorFlow. The milliseconds are those a client sees, from
the call of `submit` until the event arrives on the stream.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.service.clients import percentiles
from ipulse.client import Connection, JobEvent
from ipulse.stack.stack import Stack

SPEC = {
    "version": 1,
    "name": "first-step",
    "data": {"samples": 200, "steps": 20},
    "network": {"layers": [{"neurons": 32}]},
    "training": {"epochs": 1},
}
MILESTONES = ("first phase", "phase run", "first step")
AGENT_SECONDS = 120.0  # for a runner to import TensorFlow on a busy machine

AgentLog = list[dict[str, Any]]
T = TypeVar("T")


def measure(jobs: int, warm: bool) -> list[Row]:
    """Return a row per milestone."""
    reached = runs(jobs, warm, follow)
    return [
        {"runner": "warm" if warm else "cold", "until": milestone, "jobs": jobs}
        | percentiles([each[milestone] * 1000 for each in reached])
        for milestone in MILESTONES
    ]


def runs(jobs: int, warm: bool, run: Callable[[Connection], T]) -> list[T]:
    """Return what `run` returns of each job on an idle stack of its own.

    The first job is left out: it builds the kernels.
    """
    found = []
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        log = home / "logs" / "agent.log"
        with (
            Stack(home, environment={"IPULSE_WARM": "1" if warm else "0"}) as stack,
            Connection(stack.url, token_file=stack.token_path) as client,
        ):
            for number in range(jobs + 1):
                if warm:
                    await_log(log, has_warm_runner)
                found.append(run(client))
                await_log(log, lambda lines, ended=number + 1: attempts_ended(lines) >= ended)
    return found[1:]


def follow(client: Connection) -> dict[str, float]:
    """Run one job; return the seconds until each milestone."""
    reached: dict[str, float] = {}
    began = time.perf_counter()
    job = client.submit(SPEC)
    for event in client.job(job.id).watch():
        milestone = milestone_of(event)
        if milestone and milestone not in reached:
            reached[milestone] = time.perf_counter() - began
    ended = client.job(job.id)
    if not ended.succeeded:
        raise SystemExit(f"a job failed: {ended.reason}: {ended.message}")
    return reached


def milestone_of(event: JobEvent) -> str | None:
    """Return the milestone that an event reaches."""
    if event.kind == "metric":
        return "first step"
    if event.kind == "phase":
        return {"prepare": "first phase", "run": "phase run"}.get(event.json["phase"])
    return None


def has_warm_runner(lines: AgentLog) -> bool:
    """Return whether a runner is ready that no job has taken."""
    ready, taken = (
        {line["pid"] for line in lines if line["action"] == action}
        for action in ("runner_ready", "runner_taken")
    )
    return bool(ready - taken)


def attempts_ended(lines: AgentLog) -> int:
    """Return how many attempts the agent has ended."""
    return sum(line["action"] == "attempt_ended" for line in lines)


def await_log(path: Path, holds: Callable[[AgentLog], bool]) -> None:
    """Wait until the agent's log satisfies a condition. Raises SystemExit after two minutes."""
    deadline = time.monotonic() + AGENT_SECONDS
    while not holds([json.loads(line) for line in path.read_text().splitlines()]):
        if time.monotonic() > deadline:
            raise SystemExit(f"waited too long for the agent; its log:\n{path.read_text()}")
        time.sleep(0.05)


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service first-step", __doc__)
    parser.add_argument("--jobs", type=int, default=20, help="per kind of runner (%(default)s)")
    parser.add_argument("--only", choices=("warm", "cold"))
    options = parser.parse_args(arguments)
    kinds = [options.only] if options.only else ["warm", "cold"]
    rows = [row for kind in kinds for row in measure(options.jobs, kind == "warm")]
    finish(rows, options.output)
