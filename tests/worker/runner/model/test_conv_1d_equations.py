"""Jobs with convolutions along one axis of neurons with equations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from tests.worker.runner.attempts import attempt
from tests.worker.runner.model.test_conv_equations import ADAPTIVE
from tests.worker.runner.model.test_equations import spec, weights

pytestmark = pytest.mark.usefixtures("threads_are_set")

OWN: Dict[str, Any] = {
    "kind": "conv1d",
    "filters": 6,
    "kernel_size": 7,
    "strides": 2,
    "bias": True,
    "neuron": ADAPTIVE,
    "gate": -0.5,
}


SAMPLES, STEPS, UNITS = 120, 24, 40


@pytest.mark.sample(0)
def test_a_network_learns_and_leaves_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each class spikes in another third of one row of units, which two convolutions shorten."""
    rng = np.random.default_rng(1)
    labels = np.arange(SAMPLES) % 3
    rates = np.full((SAMPLES, 1, UNITS), 0.02)
    for sample, label in enumerate(labels):
        rates[sample, :, 13 * label : 13 * label + 13] = 0.2
    spikes = (rng.random((SAMPLES, STEPS, UNITS)) < rates).astype(np.uint8)
    np.savez(tmp_path / "row.npz", spikes=spikes, labels=labels)
    monkeypatch.setenv("IPULSE_DATA", str(tmp_path))
    data = {"kind": "npz", "name": "row", "channels": UNITS, "shape": [1, 1, UNITS]}
    data = {**data, "classes": 3, "steps": STEPS}
    layers = [OWN, {**OWN, "filters": 8, "pool": {"kind": "sum", "pool_size": 2}}]
    ended = attempt(tmp_path / "a", spec(layers, epochs=4, data=data))
    arrays = weights(ended)
    assert arrays["layer_1"].shape == (1, 7, 1, 6)
    assert arrays["layer_2"].shape == (1, 7, 6, 8)
    for layer, filters in (("layer_1", 6), ("layer_2", 8)):
        decays = arrays[f"{layer}_parameter_decay"]
        assert decays.shape == (filters,)
        assert len(np.unique(decays)) > 1  # it was trained
    lines = (ended.directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert losses[-1] < losses[0]
    written = {event["path"] for event in ended.events if event["kind"] == "artifact"}
    assert written >= {"weights.npz", "report.html", "metrics.jsonl"}
    assert ended.done["summary"]["test_accuracy"] > 1 / 3
