"""The time of training steps by part, measured on every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List

import numpy as np

from ipulse_worker.runner.model.batches import Execution

# The parts of a step and what each of them is. They are in the order in which they happen, except
# that the kernels run inside the gradient call.
PARTS = {
    "data": "host: selecting the batch and packing its spikes",
    "forward": "LIF forward kernel, by its own clock",
    "backward": "LIF backward kernel, by its own clock",
    "framework": "TensorFlow around the kernels: loss, its gradient, dispatch; on an IPU the whole "
    "program",
    "optimizer": "updating the weights; on an IPU a part of the program",
    "metrics": "host: metrics, events, Python",
}
QUANTILE_STEPS = 100_000  # quantiles are over the last so many steps; totals are over all


@dataclass(frozen=True)
class StepTime:
    """The timestamps of one step, in seconds of the clock, and the time of its kernels."""

    start: float
    batch_ready: float
    gradients_ready: float
    weights_updated: float
    end: float
    forward: float  # seconds, by the kernel's clock
    backward: float  # seconds, by the kernel's clock

    @property
    def seconds(self) -> float:
        """The duration of the step."""
        return self.end - self.start

    def parts(self) -> List[float]:
        """Return the seconds of each part, in the order of PARTS."""
        return [
            self.batch_ready - self.start,
            self.forward,
            self.backward,
            self.gradients_ready - self.batch_ready - self.forward - self.backward,
            self.weights_updated - self.gradients_ready,
            self.end - self.weights_updated,
        ]


def step_times_of(
    execution: Execution,
    start: float,
    executed: float,
    end: float,
    forward: float,
    backward: float,
) -> List[StepTime]:
    """Return the time of each step of an execution.

    Several steps of one execution get equal shares: a device does not report when each of them
    started.
    """
    steps = len(execution.step_results)
    share = (end - start) / steps
    times = []
    for number in range(steps):
        first = start + number * share
        updated = first + share - (end - executed) / steps
        times.append(
            StepTime(
                start=first,
                batch_ready=first + execution.batching_seconds / steps,
                gradients_ready=updated - execution.optimizer_seconds / steps,
                weights_updated=updated,
                end=first + share,
                forward=forward / steps,
                backward=backward / steps,
            )
        )
    return times


class StepTimes:
    """Accumulates totals and quantiles over many steps."""

    def __init__(self) -> None:
        self.count = 0
        self._totals = np.zeros(1 + len(PARTS))
        # A ring buffer; the system allocates only the pages that were written.
        self._recent = np.zeros((QUANTILE_STEPS, 1 + len(PARTS)))

    def add(self, step: StepTime) -> None:
        """Add one step."""
        row = [step.seconds, *step.parts()]
        self._totals += row
        self._recent[self.count % QUANTILE_STEPS] = row
        self.count += 1

    @property
    def seconds(self) -> float:
        """The total of all steps."""
        return float(self._totals[0])

    def means(self) -> Dict[str, float]:
        """Return the mean seconds of each part; only after a step."""
        return dict(zip(PARTS, (self._totals[1:] / self.count).tolist()))

    def to_json(self) -> Dict[str, Any]:
        """Return the `steps` object of profile.json; its means are null without a step."""
        names = list(PARTS)
        rest = self._totals[0] - self._totals[1:].sum()
        parts: List[Dict[str, Any]] = [
            {"name": name, "what": PARTS[name], "seconds": self._spread(column)}
            for column, name in enumerate(names, start=1)
        ]
        parts.append(
            {
                "name": "residual",
                "what": "not assigned to any part",
                "seconds": {"total": float(rest)},
            }
        )
        for part in parts:
            part["share"] = part["seconds"]["total"] / self._totals[0] if self.count else None
        return {
            "count": self.count,
            "seconds": self._spread(0),
            "quantiles_over": min(self.count, QUANTILE_STEPS),
            "parts": parts,
        }

    def _spread(self, column: int) -> Dict[str, Any]:
        total = float(self._totals[column])
        if not self.count:
            return {"total": total, "mean": None, "p50": None, "p95": None, "max": None}
        values = self._recent[: self.count, column]
        p50, p95 = np.percentile(values, [50, 95])
        return {
            "total": total,
            "mean": total / self.count,
            "p50": float(p50),
            "p95": float(p95),
            "max": float(values.max()),
        }
