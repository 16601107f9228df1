"""The figure by which trials of a sweep are compared, and the limits of a sweep."""

from __future__ import annotations

from typing import Annotated, Literal

from ipulse.models import Field, Integer, StrictModel, unit
from ipulse_core.metric_names import smaller_is_better

Goal = Literal["maximize", "minimize"]


def _goal_of(metric: str) -> Goal:
    return "minimize" if smaller_is_better(metric) else "maximize"


class SweepObjective(StrictModel):
    """The figure by which trials are compared."""

    metric: str = Field(
        default="test_accuracy",
        min_length=1,
        max_length=128,
        description="Name of a metric of an epoch, or of the summary. Where the spec has "
        "data.validation: validation_accuracy if not given, and never one of the test samples. "
        "For a regression, if not given: test_mae or validation_mae. "
        "With judged_on: validation, test_... is measured on the validation set.",
    )
    goal: Goal = Field(
        default_factory=lambda earlier: _goal_of(earlier.get("metric", "")),
        description="Which values are better; if not given, minimize for metrics that should fall, "
        "such as losses, and else maximize.",
    )
    at: str = Field(
        default="last",
        pattern=r"^(last|best|epoch [1-9][0-9]{0,5})$",
        description="last: the job's result, which is that of the kept epoch; best: the best "
        "epoch; epoch N: that epoch.",
    )

    @property
    def epoch(self) -> int | None:
        """The epoch that counts, None for `last` and `best`."""
        return int(self.at.removeprefix("epoch ")) if self.at.startswith("epoch ") else None

    def is_better(self, value: float, other: float) -> bool:
        """Return whether a value is better than another."""
        return value > other if self.goal == "maximize" else value < other

    def best(self, values: list[float]) -> float:
        """Return the best of some values."""
        return max(values) if self.goal == "maximize" else min(values)


class SweepLimits(StrictModel):
    """The limits after which a sweep begins no more trials; trials that have begun continue."""

    run_seconds: Annotated[Integer, Field(ge=1, le=10**8)] | None = Field(
        default=None,
        description="Time since the sweep was created, or continued after its end.",
        json_schema_extra=unit("s"),
    )
    device_hours: float | None = Field(
        default=None,
        gt=0.0,
        le=1e6,
        description="Time that agents spent on its jobs.",
        json_schema_extra=unit("h"),
    )
    target: float | None = Field(
        default=None, description="A value of the objective that is good enough."
    )
