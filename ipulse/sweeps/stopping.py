"""Early stopping of weak trials of a sweep."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Annotated, Literal

from ipulse.models import Field, Integer, StrictModel

from .objective import SweepObjective


class AshaStopping(StrictModel):
    """Asynchronous successive halving: at each rung only the best part of the trials continues."""

    kind: Literal["asha"] = Field(default="asha", description="Which rule.")
    min_epochs: Annotated[Integer, Field(ge=1, le=100_000)] | None = Field(
        default=None,
        description="Epochs before the first decision; null: the trial's epochs divided by the "
        "square of `factor`, at least 1.",
    )
    factor: Annotated[Integer, Field(ge=2, le=100)] = Field(
        default=3,
        description="One of so many trials continues; the epochs of a rung are so many times those "
        "of the one before.",
    )

    def decides_after(self, epoch: int, epochs: int) -> bool:
        """Return whether there is a decision after an epoch, from 1, of a trial of `epochs`."""
        rung = self.min_epochs or max(1, epochs // self.factor**2)
        while rung < epoch:
            rung *= self.factor
        return rung == epoch

    def goes_on(self, value: float, others: Sequence[float], objective: SweepObjective) -> bool:
        """Return whether a trial continues, compared with those that came before.

        It is among the best 1/factor of all; the first one always is.
        """
        better = sum(objective.is_better(other, value) for other in others)
        return better < max(1, (len(others) + 1) // self.factor)


class MedianStopping(StrictModel):
    """A trial that is worse than the median of the others after the same epoch is stopped."""

    kind: Literal["median"] = Field(default="median", description="Which rule.")
    warmup_epochs: Annotated[Integer, Field(ge=0, le=100_000)] = Field(
        default=0, description="Epochs without a decision."
    )
    startup_trials: Annotated[Integer, Field(ge=1, le=10_000)] = Field(
        default=5, description="Trials that must have come so far before."
    )

    def decides_after(self, epoch: int, epochs: int) -> bool:
        """Return whether there is a decision after an epoch, from 1, of a trial of `epochs`."""
        return epoch > self.warmup_epochs

    def goes_on(self, value: float, others: Sequence[float], objective: SweepObjective) -> bool:
        """Return whether a trial continues, compared with those that came before."""
        if len(others) < self.startup_trials:
            return True
        return not objective.is_better(statistics.median(others), value)


SweepStopping = AshaStopping | MedianStopping
