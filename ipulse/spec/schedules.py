"""What changes from step to step or from epoch to epoch, and when training ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ipulse_core.schema import described


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
class SecondThresholdRamp:
    """How the second thresholds of all gated layers rise to their layer's value: few neurons
    spike before a network has learned, and those below carry the gradient then."""

    start: float = described(
        "Second threshold of the first epoch, where the layer's is not lower.",
        default=-1.0,
        ge=-1e6,
        le=1e6,
    )
    epochs: int = described(
        "The layer's value holds from after this many epochs on.", default=10, ge=1, le=100_000
    )
    shape: Literal["linear", "cosine", "exponential"] = described(
        "linear: by the same step every epoch; cosine: along half a cosine; exponential: what is "
        "left shrinks by the same factor, to 1 %, before the last step.",
        default="linear",
    )


@dataclass(frozen=True)
class EarlyStopping:
    """Ends training when a figure has not improved for some epochs."""

    metric: Literal["test_loss", "test_accuracy", "loss", "accuracy"] = described(
        "Which figure; losses are to fall, accuracies to rise. Held-out samples (test_) that "
        "decide when to stop are no longer unseen: their accuracy is a little flattered.",
        default="test_loss",
    )
    patience: int = described(
        "Stops after so many epochs in a row without improvement.", default=10, ge=1, le=100_000
    )
    min_delta: float = described(
        "An improvement is better than the best so far by more than this.",
        default=0.0,
        ge=0.0,
        le=1e9,
    )
    restore_best: bool = described(
        "Whether the best epoch's weights are kept instead of the last one's.", default=True
    )
