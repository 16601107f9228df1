"""How an experiment learns: optimizer, learning rate, loss, checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ipulse.schema import described


@dataclass(frozen=True)
class Adam:
    """Adam with bias correction."""

    kind: Literal["adam"] = described("Which optimizer.", default="adam")
    learning_rate: float = described("Step size.", default=2e-3, gt=0.0, le=10.0)
    beta_1: float = described("Decay of the mean of gradients.", default=0.9, ge=0.0, lt=1.0)
    beta_2: float = described("Decay of the mean of squares.", default=0.999, ge=0.0, lt=1.0)
    epsilon: float = described(
        "Added to the root of the mean of squares.", default=1e-7, gt=0.0, le=1.0
    )


@dataclass(frozen=True)
class RateSchedule:
    """How the learning rate goes from step to step."""

    shape: Literal["constant", "cosine"] = described(
        "constant, or cosine: falls along half a cosine until the last step.", default="constant"
    )
    warmup_steps: int = described(
        "The rate rises in proportion over this many steps first.", default=0, ge=0, le=10_000_000
    )
    final_share: float = described(
        "Share of the optimizer's rate that a cosine ends at.", default=0.02, ge=0.0, le=1.0
    )


@dataclass(frozen=True)
class Training:
    """How the network is trained."""

    epochs: int = described("Passes over the training samples.", default=30, ge=1, le=100_000)
    batch_size: int = described("Samples per step.", default=64, ge=1, le=65_536)
    optimizer: Adam = described("The optimizer.", factory=Adam)
    schedule: RateSchedule = described("The schedule of its rate.", factory=RateSchedule)
    loss: Literal["mean_membrane_cross_entropy"] = described(
        "Cross-entropy of the readout membrane's mean over time.",
        default="mean_membrane_cross_entropy",
    )
    checkpoint_epochs: int = described(
        "Write a checkpoint after every this many epochs.", default=1, ge=1, le=100_000
    )
