"""From a submission to the first training step, with the warm runner and without.

    python -m benchmarks.start_latency [--jobs 20] [--json]

A real stack, a tiny network, one job after the other; each is submitted when the agent is idle and,
if there is to be one, the warm runner has imported TensorFlow. Milliseconds as a client sees them,
from the call of `submit` until the event arrives on the stream: the runner's first phase, the phase
`run` (compiled, a device attached), and the first metric, which is the first training step.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ipulse.client import Client, JobEvent
from ipulse.stack.stack import Stack

SPEC = {
    "version": 1,
    "name": "start-latency",
    "data": {"samples": 200, "steps": 20},
    "network": {"layers": [{"neurons": 32}]},
    "training": {"epochs": 1},
}
MILESTONES = ("first phase", "phase run", "first step")
PATIENCE = 120.0  # seconds for a runner to import TensorFlow on a busy machine


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=20, help="of each kind")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    figures = {
        "jobs": options.jobs,
        "warm": measure(options.jobs, is_warm=True),
        "cold": measure(options.jobs, is_warm=False),
        "load_average": os.getloadavg()[0],
    }
    if options.json:
        print(json.dumps(figures))
        return 0
    print(f"{options.jobs} jobs each, load average {figures['load_average']:.1f}, milliseconds\n")
    print(f"{'':8}{'submitted until':18}{'p50':>9}{'p99':>9}{'max':>9}")
    for kind in ("warm", "cold"):
        for milestone, percentiles in figures[kind].items():
            shown = "".join(f"{value:9.0f}" for value in percentiles.values())
            print(f"{kind:8}{milestone:18}{shown}")
    return 0


def measure(jobs: int, is_warm: bool) -> dict[str, dict[str, float]]:
    """Percentiles of each milestone, in milliseconds, after one job that is not counted: it
    builds what the first job of an installation builds."""
    samples: dict[str, list[float]] = {milestone: [] for milestone in MILESTONES}
    environment = {"IPULSE_WARM": "1" if is_warm else "0"}
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        with Stack(home, environment=environment) as stack:
            log = AgentLog(home / "logs" / "agent.log")
            with Client(stack.url, token_file=stack.token_path) as client:
                for number in range(jobs + 1):
                    if is_warm:
                        log.wait_for_warm_runner()
                    reached = follow(client)
                    log.wait_for_end_of_attempt(number + 1)
                    if number > 0:
                        for milestone, seconds in reached.items():
                            samples[milestone].append(seconds * 1000)
    return {milestone: percentiles(times) for milestone, times in samples.items()}


def follow(client: Client) -> dict[str, float]:
    """Seconds from the call of `submit` to each milestone of one job."""
    reached: dict[str, float] = {}
    began = time.perf_counter()
    job = client.submit(SPEC)
    for event in client.watch(job.id):
        milestone = milestone_of(event)
        if milestone and milestone not in reached:
            reached[milestone] = time.perf_counter() - began
    ended = client.get(job.id)
    if not ended.succeeded:
        raise SystemExit(f"a job failed: {ended.reason}: {ended.message}")
    if "first phase" in reached and "first step" in reached:
        return {milestone: reached[milestone] for milestone in MILESTONES}
    raise SystemExit(f"a job went by without {set(MILESTONES) - set(reached)}")


def milestone_of(event: JobEvent) -> str | None:
    if event.kind == "metric":
        return "first step"
    if event.kind == "phase":
        return {"prepare": "first phase", "run": "phase run"}.get(event.json["phase"])
    return None


class AgentLog:
    """What the agent says about its runners."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def wait_for_warm_runner(self) -> None:
        """Until a runner is ready that no job has taken."""
        self._wait(lambda said: bool(_pids(said, "runner_ready") - _pids(said, "runner_taken")))

    def wait_for_end_of_attempt(self, count: int) -> None:
        self._wait(lambda said: sum(line["action"] == "attempt_ended" for line in said) >= count)

    def _wait(self, holds: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds([json.loads(line) for line in self._path.read_text().splitlines()]):
            if time.monotonic() > deadline:
                raise SystemExit(
                    f"waited too long for the agent; see its log:\n{self._path.read_text()}"
                )
            time.sleep(0.05)


def _pids(said: list[dict[str, Any]], action: str) -> set[int]:
    return {line["pid"] for line in said if line["action"] == action}


def percentiles(samples: list[float]) -> dict[str, float]:
    ordered = sorted(samples)
    return {
        name: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)
        for name, share in (("p50", 0.50), ("p99", 0.99), ("max", 1.0))
    }


if __name__ == "__main__":
    sys.exit(main())
