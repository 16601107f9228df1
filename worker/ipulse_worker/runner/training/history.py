"""The metrics of a training as lines of metrics.jsonl, equal for equal specs and seeds.

The file contains nothing that depends on the machine's speed. Two runs of one experiment, or a
resumed and an uninterrupted run, can be compared with `cmp`. Speeds are in the profile.
"""

from __future__ import annotations

from typing import Any, Dict, List

from ipulse_core import strict_json
from ipulse_worker.runner.training.batch_schedule import BatchSchedule

MAX_STEP_LINES = 2000  # of a whole training; longer trainings log every second, third, ... step


class History:
    """One record per logged step and one per epoch, in order.

    A step record contains the metrics of that step's batch. An epoch record contains the means
    over the epoch's batches and the metrics on the test samples.
    """

    def __init__(self, text: str = "") -> None:
        self._lines: List[str] = text.splitlines(keepends=True)
        self.records: List[Dict[str, Any]] = [strict_json.loads(line) for line in self._lines]

    def add(self, scope: str, epoch: int, step: int, values: Dict[str, float]) -> None:
        """Append a record; `scope` is step or epoch."""
        record = {"scope": scope, "epoch": epoch, "step": step, **values}
        self.records.append(record)
        self._lines.append(strict_json.dumps(record) + "\n")

    def text(self) -> str:
        """Return the content of metrics.jsonl."""
        return "".join(self._lines)

    def epochs(self, name: str) -> List[float]:
        """Return a metric's value after each epoch."""
        return [record[name] for record in self.records if record["scope"] == "epoch"]


def logged_every(schedule: BatchSchedule) -> int:
    """Return the interval, in steps, between two step records."""
    return max(1, -(-schedule.steps // MAX_STEP_LINES))
