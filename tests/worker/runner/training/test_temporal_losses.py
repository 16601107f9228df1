"""Trainings with the losses of the first spike and of the last step."""

from __future__ import annotations

import signal
from typing import Any, Dict

import pytest

from ipulse_worker.runner.cancellation import Cancellation
from tests.worker.runner.trainings import recorded_progress, spec_of, training_of


@pytest.mark.parametrize(
    ("loss", "readout", "more"),
    [
        ("last_membrane_cross_entropy", "leaky", {}),
        ("first_spike_cross_entropy", "spiking", {}),
        ("first_spike_cross_entropy", "spiking", {"first_spike_ms": 30.0}),
    ],
)
def test_learns(loss: str, readout: str, more: Dict[str, Any]) -> None:
    network = {"layers": [{"neurons": 64}], "readout": {"kind": readout}}
    rate = {"kind": "adam", "learning_rate": 0.01}
    settings = {"epochs": 20, "batch_size": 32, "loss": loss, "optimizer": rate, **more}
    data = {"kind": "digits", "samples": 300}
    training = training_of(spec_of(data=data, network=network, training=settings))
    before = signal.getsignal(signal.SIGTERM)
    try:
        with recorded_progress(training) as (progress, _):
            training.run(progress, Cancellation(), lambda: None)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert training.history.epochs("loss")[-1] < 0.8 * training.history.epochs("loss")[0]
    assert training.history.epochs("test_accuracy")[-1] > 0.4  # chance is 0.1
