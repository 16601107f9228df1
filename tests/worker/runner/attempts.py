"""One attempt in the test's own process, and what it output."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

from ipulse_core import strict_json
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.clock import Clock, Timeline
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.runner_start import RunnerStart
from ipulse_worker.runner.session import run_attempt

from .resolver import resolve

MARKS = ("attached to", "compiled in", "pre-compiled in", "loaded from")


class FinishedAttempt(NamedTuple):
    """The events and the directory of an attempt."""

    events: List[Dict[str, Any]]
    directory: Path

    @property
    def log(self) -> List[str]:
        return [event["message"] for event in self.events if event["kind"] == "log"]

    @property
    def trace(self) -> List[str]:
        return [line for line in self.log if line.startswith(MARKS)]

    @property
    def phases(self) -> List[str]:
        return [event["phase"] for event in self.events if event["kind"] == "phase"]

    @property
    def done(self) -> Dict[str, Any]:
        return self.events[-1]


def attempt(
    directory: Path, spec: Any, model: str = "ExperimentSpec", **more: Any
) -> FinishedAttempt:
    """Run an attempt in this process; `more` is added to the assignment."""
    given = {"protocol": 1, "job_id": "job_1", "attempt": 1, "work_dir": str(directory), **more}
    line = strict_json.dumps({**given, "spec": resolve(model, spec)}).encode()
    directory.mkdir(exist_ok=True)
    output = directory.with_suffix(".events").open("w+b")
    before = signal.getsignal(signal.SIGTERM)
    try:
        events_out, cancellation = EventWriter(output.fileno()), Cancellation()
        cancellation.defer()
        events_out.write(
            run_attempt(line, events_out, cancellation, Timeline(Clock()), RunnerStart())
        )
    finally:
        signal.signal(signal.SIGTERM, before)
    output.seek(0)
    events = [json.loads(event) for event in output]
    output.close()
    return FinishedAttempt(events, directory)
