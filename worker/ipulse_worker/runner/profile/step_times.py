"""Where the time of training steps goes, measured on every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List

import numpy as np

from ipulse_worker.runner.training.batches import Execution

# The parts of a step, in the order in which they happen but for the kernels, which run inside of
# the gradient call, and what each one is.
PARTS = {
    "data": "host: picking the batch and spreading its spikes",
    "forward": "LIF forward kernel, by its own clock",
    "backward": "LIF backward kernel, by its own clock",
    "framework": "TensorFlow around the kernels: loss, its gradient, dispatch; on an IPU the whole "
    "program",
    "optimizer": "changing the weights; on an IPU a part of the program",
    "metrics": "host: figures, events, Python",
}
QUANTILE_STEPS = 100_000  # quantiles are over the last so many steps; totals are over all


@dataclass(frozen=True)
class StepTime:
    """The stamps of one step, in seconds of the clock, and what its kernels took."""

    begun: float
    batched: float  # the batch is there
    derived: float  # the gradients are there
    applied: float  # the weights are changed
    ended: float
    forward: float  # seconds, by the kernel's clock
    backward: float  # seconds, by the kernel's clock

    @property
    def seconds(self) -> float:
        return self.ended - self.begun

    def parts(self) -> List[float]:
        """Seconds of each of PARTS."""
        return [
            self.batched - self.begun,
            self.forward,
            self.backward,
            self.derived - self.batched - self.forward - self.backward,
            self.applied - self.derived,
            self.ended - self.applied,
        ]


def step_times_of(
    execution: Execution,
    begun: float,
    executed: float,
    ended: float,
    forward: float,
    backward: float,
) -> List[StepTime]:
    """Of each step of an execution. Where there are several, they have equal shares: a device does
    not say when each of them began."""
    steps = len(execution.learned)
    share = (ended - begun) / steps
    found = []
    for number in range(steps):
        first = begun + number * share
        applied = first + share - (ended - executed) / steps
        found.append(
            StepTime(
                begun=first,
                batched=first + execution.batching / steps,
                derived=applied - execution.applying / steps,
                applied=applied,
                ended=first + share,
                forward=forward / steps,
                backward=backward / steps,
            )
        )
    return found


class StepTimes:
    """Totals and quantiles of many steps."""

    def __init__(self) -> None:
        self.count = 0
        self._totals = np.zeros(1 + len(PARTS))
        # A ring, which takes memory as far as it is filled.
        self._recent = np.zeros((QUANTILE_STEPS, 1 + len(PARTS)))

    def add(self, step: StepTime) -> None:
        row = [step.seconds, *step.parts()]
        self._totals += row
        self._recent[self.count % QUANTILE_STEPS] = row
        self.count += 1

    @property
    def seconds(self) -> float:
        return float(self._totals[0])

    def to_json(self) -> Dict[str, Any]:
        """The part of profile.json that docs/reference/profile.md calls `steps`; None without a
        step."""
        names = list(PARTS)
        rest = self._totals[0] - self._totals[1:].sum()
        parts: List[Dict[str, Any]] = [
            {"name": name, "what": PARTS[name], "seconds": self._spread(column)}
            for column, name in enumerate(names, start=1)
        ]
        parts.append(
            {"name": "residual", "what": "what no part claims", "seconds": {"total": float(rest)}}
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
