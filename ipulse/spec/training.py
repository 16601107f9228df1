"""How an experiment learns: loss, optimizer, schedules, bounds, checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Literal, Optional, Tuple

from ipulse_core.errors import Problem
from ipulse_core.schema import described

from .optimizers import Adam, GradientClipping, Optimizer
from .regularisers import Regulariser
from .schedules import EarlyStopping, RateSchedule, SecondThresholdRamp

Loss = Literal[
    "mean_membrane_cross_entropy",
    "max_membrane_cross_entropy",
    "step_cross_entropy",
    "spike_count_cross_entropy",
    "spike_count_mse",
]
SPIKE_LOSSES = ("spike_count_cross_entropy", "spike_count_mse")


@dataclass(frozen=True)
class SpikeTargets:
    """How often a readout neuron should spike in a sample."""

    right: float = described("The neuron of the sample's class.", default=10.0, ge=0.0, le=1e6)
    wrong: float = described("Every other.", default=1.0, ge=0.0, le=1e6)

    def problems(self) -> Iterator[Problem]:
        if self.wrong >= self.right:
            yield Problem("/wrong", "inconsistent", f"must be below right ({self.right:g})")


@dataclass(frozen=True)
class Training:
    """How the network is trained."""

    epochs: int = described("Passes over the training samples.", default=30, ge=1, le=100_000)
    batch_size: int = described("Samples per step.", default=64, ge=1, le=65_536)
    optimizer: Optimizer = described("The optimizer.", factory=Adam)
    schedule: RateSchedule = described("The schedule of its rate.", factory=RateSchedule)
    gradient_clipping: GradientClipping = described(
        "Bounds of the gradient.", factory=GradientClipping
    )
    loss: Loss = described(
        "Of a leaky readout: cross-entropy of the membrane's mean over time, of its largest value "
        "over time, or of its value at each step (mean of all steps; predicted is the class that "
        "leads most often). Of a spiking readout: cross-entropy of the spike counts, or the mean "
        "square of their distance from spike_targets.",
        default="mean_membrane_cross_entropy",
    )
    spike_targets: Optional[SpikeTargets] = described(
        "Of the loss spike_count_mse; null: 10 spikes of the right neuron, 1 of every other.",
        default=None,
    )
    regularisers: Tuple[Regulariser, ...] = described(
        "Bounds on how often hidden neurons spike.", factory=tuple, max_items=16
    )
    second_threshold_ramp: Optional[SecondThresholdRamp] = described(
        "How second thresholds rise over the epochs; null: constant.", default=None
    )
    early_stopping: Optional[EarlyStopping] = described(
        "When to end before the last epoch; null: never.", default=None
    )
    checkpoint_epochs: int = described(
        "Write a checkpoint after every this many epochs.", default=1, ge=1, le=100_000
    )

    def problems(self) -> Iterator[Problem]:
        if self.spike_targets is not None and self.loss != "spike_count_mse":
            yield Problem(
                "/spike_targets", "inconsistent", f"the loss {self.loss} has none: leave them out"
            )
        ramp = self.second_threshold_ramp
        if ramp is not None and ramp.epochs > self.epochs:
            detail = f"the ramp would not end within the training ({self.epochs} epochs)"
            yield Problem("/second_threshold_ramp/epochs", "inconsistent", detail)
