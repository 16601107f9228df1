"""Trainings that a test runs, stops and compares."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np

from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.training.loop import Training
from tests.worker.runner.trainings import recorded_progress, spec_of

STANDARDISED: Dict[str, Any] = {
    "layers": [{"neurons": 20, "standardised": True}],
    "readout": {"standardised": True},
}
DELAYS: Dict[str, Any] = {
    "layers": [{"neurons": 20, "delays": {"longest": 3}}],
    "readout": {"delays": {"per": "neuron", "longest": 4, "rounded": True}},
}
DROPOUT: Dict[str, Any] = {
    "layers": [{"neurons": 20, "dropout": 0.2}, {"neurons": 16, "dropout": 0.3}],
    "readout": {"dropout": 0.1},
}
EVERYTHING = spec_of(
    network={
        "layers": [
            {"neurons": 20, "second_threshold": 0.8},
            {"neurons": 16, "second_threshold": 1.0, "capacity": {"grow": 2}},
        ],
        "initial_membrane_std": 0.4,
    },
    training={
        "epochs": 40,
        "batch_size": 32,
        "optimizer": {"kind": "sgd", "learning_rate": 1.0},
        "second_threshold_ramp": {"start": 0.0, "epochs": 3, "shape": "cosine"},
        "regularisers": [{"kind": "lower"}, {"kind": "upper", "layers": [2], "spikes": 0.1}],
        "gradient_clipping": {"value": 0.05, "global_norm": 0.2},
        "schedule": {"shape": "cosine", "warmup_steps": 2},
        "early_stopping": {"metric": "test_accuracy", "patience": 2},
    },
)


def run(training: Training, cancellation: Cancellation) -> List[int]:
    """Trains; the steps after which it was saved."""
    saved: List[int] = []
    with recorded_progress(training) as (progress, _):
        training.run(progress, cancellation, lambda: saved.append(training.step))
    return saved


def stop_after(
    training: Training, step: int, cancellation: Cancellation, how: str = "requested"
) -> None:
    """Asks for a stop while a step runs: the training reads the kernels' clock in every step."""
    real = training.kernel_seconds

    def read_clock() -> Dict[str, float]:
        if training.step == step:
            setattr(cancellation, how, True)
        return real()

    training.kernel_seconds = read_clock


def same_bits(left: List[np.ndarray], right: List[np.ndarray]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right))


def assert_same(one: Training, other: Training) -> None:
    """Bit for bit, in everything that a report shows."""
    assert one.history.text() == other.history.text()
    assert same_bits(one.model.trained, other.model.trained)
    assert one.model.limits.equals(other.model.limits)
    assert one.kept_epoch == other.kept_epoch
    before, after = one.state(), other.state()
    assert list(before) == list(after)
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
