"""Jobs with convolutions of neurons with equations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_ops.keras.trained_network import trained_network
from ipulse_worker.runner.model.keras_network import keras_network
from ipulse_worker.runner.model.network import initial_limits
from ipulse_worker.runner.model.weight_names import weight_names
from tests.equations import neuron_document
from tests.worker.runner.attempts import attempt
from tests.worker.runner.model.test_equations import spec, weights
from tests.worker.runner.resolver import resolve
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")

ADAPTIVE = neuron_document(
    [
        {"name": "u", "update": "decay * u + 2 * I", "reset": "where(r, 0, u)"},
        {"name": "a", "reset": "0.9 * a + r"},
    ],
    "u - (theta + 0.1 * a)",
    [
        {"name": "decay", "value": 0.9, "minimum": 0, "maximum": 0.99, "trainable": True},
        {"name": "theta", "value": 1.0, "minimum": 0.1, "per": "layer", "trainable": True},
    ],
    name="adaptive",
)
OWN = {"kind": "conv2d", "filters": 4, "kernel_size": 3, "bias": True, "neuron": ADAPTIVE}
POOLED = {**OWN, "padding": "same", "pool": {"kind": "average", "pool_size": 3}}  # crops
KNOWN = {"kind": "conv2d", "filters": 3, "kernel_size": 2}
DENSE = {"kind": "equations", "neurons": 12, "neuron": ADAPTIVE}


@pytest.mark.sample(0)
def test_a_network_learns_and_its_threads_change_nothing(tmp_path: Path) -> None:
    layers: List[Dict[str, Any]] = [OWN, {**OWN, "gate": -0.5}, {"neurons": 20}]
    one = attempt(tmp_path / "one", spec(layers, epochs=4, device={"kind": "cpu", "threads": 1}))
    arrays = weights(one)
    assert arrays["layer_1"].shape == (3, 3, 1, 4)
    assert arrays["layer_1_bias"].shape == (4,)
    decays = arrays["layer_1_parameter_decay"]
    assert decays.shape == (4,)
    assert len(np.unique(decays)) > 1  # it was trained
    assert arrays["layer_2_parameter_theta"].shape == (1,)
    lines = (one.directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert losses[-1] < losses[0]
    page = (one.directory / "report.html").read_text(encoding="utf-8")
    assert "layers[0] has neurons adaptive" in page
    assert "trained per filter" in page
    two = attempt(tmp_path / "two", spec(layers, epochs=4, device={"kind": "cpu", "threads": 2}))
    for name, array in weights(two).items():
        assert array.tobytes() == arrays[name].tobytes(), name


@pytest.mark.verify
def test_a_job_that_continues_is_one_longer_job(tmp_path: Path) -> None:
    layers = [POOLED, DENSE]
    whole = weights(attempt(tmp_path / "whole", spec(layers, epochs=2)))
    first = attempt(tmp_path / "first", spec(layers, epochs=1))
    second = attempt(
        tmp_path / "second",
        spec(layers, epochs=2),
        start_from=str(first.directory / "checkpoint.npz"),
        start_mode="continue",
    )
    for name, array in weights(second).items():
        assert array.tobytes() == whole[name].tobytes(), name


STACKS: Dict[str, List[Dict[str, Any]]] = {
    "before a convolution of LIF neurons": [POOLED, KNOWN, {"neurons": 10}],
    "behind it": [{**KNOWN, "pool": {"kind": "average", "pool_size": 2}}, OWN],
    "before dense equations": [POOLED, DENSE, {"neurons": 8}],
    "only dense equations": [{**KNOWN, "pool": {"kind": "sum", "pool_size": 2}}, DENSE],
    "before dense layers": [POOLED, {"neurons": 10}, {"neurons": 8}],
    "before the readout": [POOLED],
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("name", STACKS)
def test_the_network_of_a_job_is_a_keras_layer(tmp_path: Path, name: str, delay: int) -> None:
    document = spec(STACKS[name], epochs=1, network={"delay": delay})
    document["data"]["samples"] = 64
    ended = attempt(tmp_path / "a", document)
    given, arrays = spec_from(document), weights(ended)
    built = keras_network(given, initial_limits(given), 1)
    built.set_kernels([arrays[each] for each in weight_names(given)])
    for number, part in enumerate(built.parts, start=1):
        if hasattr(part, "set_parameters"):
            found = {
                each: arrays[f"layer_{number}_parameter_{each}"] for each in ("decay", "theta")
            }
            part.set_parameters(found)
    made = trained_network(resolve("ExperimentSpec", document), arrays, threads=1)
    rng = np.random.default_rng(4)
    ids = rng.integers(0, 64, (20, 3, 9)).astype(np.int32)
    counts = np.full((20, 3), 9, np.int32)
    one, two = built(ids, counts), made(ids, counts)
    for spiking in two.spike_counts:
        assert float(np.sum(spiking[..., 0])) > 0
    np.testing.assert_array_equal(one.membrane, two.membrane)
    for left, right in zip(one.spike_ids, two.spike_ids):
        np.testing.assert_array_equal(left, right)


@pytest.mark.sample(0)
def test_a_job_may_start_from_trained_parameters(tmp_path: Path) -> None:
    first = attempt(tmp_path / "first", spec([POOLED], epochs=1))
    second = attempt(
        tmp_path / "second",
        spec([{**POOLED, "trainable": False}], epochs=1),
        start_from=str(first.directory / "weights.npz"),
        start_mode="weights",
    )
    trained, kept = weights(first), weights(second)
    for name in ("layer_1", "layer_1_bias", "layer_1_parameter_decay", "layer_1_parameter_theta"):
        assert trained[name].tobytes() == kept[name].tobytes(), name


@pytest.mark.sample(0)
def test_what_diverges_is_named(tmp_path: Path) -> None:
    document = neuron_document(
        [{"name": "u", "update": "0.9 * u + I", "reset": "exp(200 * r) * u / (2 - r * r)"}],
        "u - 1",
        name="explosive",
    )
    layer = {"kind": "conv2d", "filters": 2, "kernel_size": 3, "neuron": document}
    message = attempt(tmp_path / "a", spec([layer], epochs=1)).done["message"]
    assert "layer 1" in message
    assert "explosive" in message
