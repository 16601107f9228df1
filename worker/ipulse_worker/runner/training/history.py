"""The figures of a training as lines of metrics.jsonl, the same for every run of a seed.

Nothing that depends on the machine's speed is in here: two runs of one experiment can be
compared with `cmp`, and so can a resumed run and an undisturbed one. Speeds are in the profile.
"""

from __future__ import annotations

from typing import Any, Dict, List

from ipulse_core import strict_json
from ipulse_worker.runner.training.batch_schedule import Schedule

MAX_STEP_LINES = 2000  # of a whole training; longer ones log every second, third, ... step


class History:
    """One record per logged step and one per epoch, in order.

    A step record holds the figures of that step's batch, an epoch record the mean over the
    epoch's batches and the figures on the held-out samples.
    """

    def __init__(self, text: str = "") -> None:
        self._lines: List[str] = text.splitlines(keepends=True)
        self.records: List[Dict[str, Any]] = [strict_json.loads(line) for line in self._lines]

    def add(self, scope: str, epoch: int, step: int, values: Dict[str, float]) -> None:
        record = {"scope": scope, "epoch": epoch, "step": step, **values}
        self.records.append(record)
        self._lines.append(strict_json.dumps(record) + "\n")

    def text(self) -> str:
        return "".join(self._lines)

    def epochs(self, name: str) -> List[float]:
        """A figure's value after each epoch."""
        return [record[name] for record in self.records if record["scope"] == "epoch"]


def logged_every(schedule: Schedule) -> int:
    """Every how many steps one is logged."""
    return max(1, -(-schedule.steps // MAX_STEP_LINES))
