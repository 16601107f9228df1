"""Short specs, the interpreters that train them, and the runner processes of jobs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from ipulse.client import JobEvent

# Seconds for what takes a few: on a machine with much else to do, a first job compiles for minutes.
PATIENCE = 240.0
OLDER = Path(__file__).parents[2] / ".venv38" / "bin" / "python"


def older_runner() -> dict[str, str]:
    """Return the agent's variables for a runner with TensorFlow 2.6 on Python 3.8, if installed.

    It starts in half the time. `ipulse demo` is tested with the newest TensorFlow.
    """
    return {"IPULSE_RUNNER_PYTHON": str(OLDER)} if OLDER.exists() else {}


def small_spec(epochs: int = 3, **changes: Any) -> dict[str, Any]:
    """Return a spec with a few hundred digits and two narrow layers."""
    return {
        "version": 1,
        "name": "small",
        "seed": 7,
        "data": {"kind": "digits", "samples": 400, "steps": 20},
        "network": {
            "layers": [
                {"neurons": 32, "second_threshold": 0.5},
                {"neurons": 24, "second_threshold": 0.4, "capacity": 16},
            ]
        },
        "training": {"epochs": epochs, "batch_size": 32},
        "device": {"kind": "cpu", "threads": 1},
        **changes,
    }


def until(events: Iterable[JobEvent], kind: str, **fields: Any) -> list[JobEvent]:
    """Return the events up to the first one of this kind with at least these fields."""
    seen: list[JobEvent] = []
    for event in events:
        seen.append(event)
        if event.kind == kind and all(event.fields[name] >= fields[name] for name in fields):
            return seen
    raise AssertionError(f"the job ended without {kind} {fields}")


def arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@dataclass(frozen=True)
class Runners:
    """Finds the runner of a job in the agent's log."""

    log: Path

    def of(self, job_id: str) -> psutil.Process:
        """Return the latest runner of a job."""
        return psutil.Process([line["pid"] for line in self._lines(job_id)][-1])

    def _lines(self, job_id: str) -> Iterator[dict[str, Any]]:
        whole, _, _ = self.log.read_text().rpartition("\n")  # the agent may be writing the next
        for line in whole.splitlines():
            record: dict[str, Any] = json.loads(line)
            if record.get("job") == job_id and "pid" in record:
                yield record


def family(process: psutil.Process) -> list[psutil.Process]:
    """Return a process and all its descendants."""
    return [process, *process.children(recursive=True)]
