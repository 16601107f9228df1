"""Delays of layers in networks with convolutions and equations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_core.spec.derived_values import input_delays
from ipulse_ops.keras.trained_network import trained_network
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.model.reference_run import run_reference
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.model.test_conv_equations import OWN
from tests.worker.runner.model.test_equations import LAYER, spec, weights
from tests.worker.runner.resolver import resolve
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")

STEPS = 14
DATA = {"kind": "digits", "samples": 64, "steps": STEPS}
TILES = {"kind": "emulator", "tiles": 16}
CONV: Dict[str, Any] = {"kind": "conv2d", "filters": 4, "kernel_size": 3}
POOLED = {**CONV, "padding": "same", "pool": {"kind": "average", "pool_size": 3}}
GATED = {**CONV, "kernel_size": [2, 1], "second_threshold": 0.3}
DENSE = {**LAYER, "bias": False, "neurons": 12}
CONVOLVED = {**OWN, "bias": False}
SYNAPSES = {"longest": 2}
SENDERS = {"per": "neuron", "longest": 2}
# Of LIF neurons.
NETWORKS: Dict[str, Dict[str, Any]] = {
    "one delay": {"layers": [POOLED, GATED, {"neurons": 8}], "delay": 2},
    "one of a step": {"layers": [POOLED, GATED, {"neurons": 8}], "delay": 1},
    "own delays": {
        "layers": [{**POOLED, "delay": 1}, {**GATED, "delay": 3}, {"neurons": 8}, {"neurons": 8}],
        "readout": {"delay": 2},
    },
    "only a readout behind": {"layers": [{**POOLED, "delay": 1}], "readout": {"delay": 3}},
    "a spiking readout behind": {
        "layers": [POOLED, GATED],
        "readout": {"kind": "spiking", "delay": 2},
    },
    "connections": {
        "layers": [POOLED, {"neurons": 8, "delays": SYNAPSES}, {"neurons": 6}],
        "readout": {"delays": SENDERS},
        "delay": 2,
    },
    "connections to a readout": {
        "layers": [POOLED],
        "readout": {"delays": {**SENDERS, "rounded": True}},
    },
}
# With equations; their delays are those of layers.
EQUATIONS: Dict[str, Dict[str, Any]] = {
    "convolved equations": {
        "layers": [{**CONVOLVED, "delay": 1}, {**GATED, "delay": 2}, {"neurons": 6}],
        "readout": {"delay": 3},
    },
    "dense equations": {
        "layers": [{"neurons": 20}, {**DENSE, "delay": 0}, {"neurons": 9}, {"neurons": 8}],
        "delay": 2,
    },
    "first and last": {
        "layers": [{**DENSE, "delay": 2}, {"neurons": 9, "delay": 1}, {"neurons": 8}, DENSE],
        "readout": {"delay": 4},
    },
}


def document_of(network: Dict[str, Any], **changes: Any) -> Dict[str, Any]:
    more = dict(network)
    found = spec(more.pop("layers"), **{"epochs": 1, "data": DATA, "network": more, **changes})
    if network.get("readout", {}).get("kind") == "spiking":
        found["training"]["loss"] = "spike_count_cross_entropy"
    return found


def on_both(directory: Path, network: Dict[str, Any]) -> FinishedAttempt:
    """Compare the weights of a job with those of the CPU; return the job on tiles."""
    on_cpu = attempt(directory / "cpu", document_of(network))
    on_tiles = attempt(directory / "tiles", document_of(network, device=TILES))
    found, expected = weights(on_tiles), weights(on_cpu)
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-4, err_msg=name)
    return on_tiles


def batch() -> Any:
    rng = np.random.default_rng(4)
    ids = rng.integers(0, 64, (STEPS, 3, 9)).astype(np.int32)
    return ids, np.full((STEPS, 3), 9, np.int32)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_trained_network_is_the_reference(tmp_path: Path, name: str) -> None:
    document = document_of(NETWORKS[name])
    arrays = weights(attempt(tmp_path / "job", document))
    made = trained_network(resolve("ExperimentSpec", document), arrays, threads=1)
    ids, counts = batch()
    outputs = made(ids, counts, training=False)
    given = spec_from(document)
    run = run_reference(given, network_of(given), arrays, ids, counts)
    for found, layer in zip(outputs.spike_counts, run.convolutions):
        np.testing.assert_array_equal(found[..., 0], layer.spikes.sum(axis=(2, 3, 4)))
    if outputs.membrane is not None:
        np.testing.assert_allclose(outputs.membrane, run.network.membrane, rtol=0, atol=1e-5)
    for found, trace in zip(outputs.spike_counts[len(run.convolutions) :], run.network.layers):
        np.testing.assert_array_equal(found[..., 0], trace.spike_counts[..., 0])


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", EQUATIONS)
def test_the_output_comes_as_much_later_as_all_delays(tmp_path: Path, name: str) -> None:
    network = EQUATIONS[name]
    document = document_of(network)
    arrays = weights(attempt(tmp_path / "job", document))
    layers = [{**layer, "delay": 0} for layer in network["layers"]]
    at_once = {**network, "layers": layers, "readout": {"delay": 0}}
    ids, counts = batch()
    delayed, same = (
        trained_network(resolve("ExperimentSpec", each), arrays, threads=1)(ids, counts).membrane
        for each in (document, document_of(at_once))
    )
    steps = sum(input_delays(spec_from(document).network))
    assert 0 < steps < STEPS
    assert not np.any(delayed[:steps])
    assert np.any(delayed[steps:])
    np.testing.assert_array_equal(delayed[steps:], same[: STEPS - steps])


def test_tiles_train_as_the_cpu_does(tmp_path: Path) -> None:
    layers = [POOLED, {**GATED, "delay": 3}, {"neurons": 8, "delays": SYNAPSES}]
    network = {"layers": layers, "readout": {"delays": SENDERS}}
    on_tiles = on_both(tmp_path, network)
    profile = json.loads((on_tiles.directory / "poplar_profile.json").read_text("utf-8"))
    sets = {each["name"].split("/")[0] for each in profile["compilation"]["computeSets"]}
    assert sets >= {"layer1", "layer2", "layer3", "readout"}
    assert "3 steps" in (on_tiles.directory / "report.html").read_text("utf-8")


@pytest.mark.verify
@pytest.mark.parametrize("name", [*NETWORKS, *EQUATIONS])
def test_every_network_trains_on_tiles_as_on_the_cpu(tmp_path: Path, name: str) -> None:
    on_both(tmp_path, {**NETWORKS, **EQUATIONS}[name])


@pytest.mark.verify
def test_a_job_that_continues_is_one_longer_job(tmp_path: Path) -> None:
    network = NETWORKS["connections"]
    whole = weights(attempt(tmp_path / "whole", document_of(network, epochs=2)))
    first = attempt(tmp_path / "first", document_of(network))
    start = {"start_from": str(first.directory / "checkpoint.npz"), "start_mode": "continue"}
    second = attempt(tmp_path / "second", document_of(network, epochs=2), **start)
    for name, array in weights(second).items():
        assert array.tobytes() == whole[name].tobytes(), name
