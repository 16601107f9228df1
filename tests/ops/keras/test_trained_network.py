"""The network of a job from its spec and its weights."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF
from ipulse_ops.keras.trained_network import trained_network
from ipulse_ops.quantisation import Quantisation, quantise

SPEC: Dict[str, Any] = {
    "version": 1,
    "network": {
        "layers": [
            {
                "neurons": 12,
                "decay": 0.9,
                "gain": 10.0,
                "bias": True,
                "synapse_decay": None,
                "threshold": 1.0,
                "second_threshold": 0.5,
                "capacity": {"grow": 4, "most": None},
                "policy": "index",
                "recurrent": True,
            }
        ],
        "readout": {
            "kind": "leaky",
            "decay": [0.8, 0.9, 0.95],
            "gain": 5.0,
            "bias": False,
            "synapse_decay": None,
        },
        "surrogate": {"name": "superspike", "slope": 10.0},
        "reset": "subtract",
        "reset_on": "state",
        "reset_gradient": "mask",
        "delay": 0,
    },
}


def weights() -> Dict[str, np.ndarray]:
    draw = np.random.default_rng(3)
    shapes = {"layer_1": (5, 12), "layer_1_recurrent": (12, 12), "layer_1_bias": (12,)}
    return {
        name: draw.normal(0, 0.4, shape).astype(np.float32)
        for name, shape in {**shapes, "readout": (12, 3)}.items()
    }


def spikes() -> Any:
    draw = np.random.default_rng(4)
    return tf.constant(draw.random((20, 4, 5)) < 0.3, tf.float32)


@pytest.mark.old_python
def test_it_computes_what_the_network_of_the_job_computes() -> None:
    arrays = weights()
    expected = MultiLIF(
        inputs=5,
        layers=[LIF(12, decay=0.9, bias=True, second_threshold=0.5, capacity=7, recurrent=True)],
        readout=LeakyReadout(3, decay=np.array([0.8, 0.9, 0.95]), gain=5.0),
        reset="subtract",
    )
    expected.set_kernels([arrays[name] for name in arrays])
    found = trained_network(SPEC, arrays, [7])
    assert found.network.layers[0].capacity == 7
    np.testing.assert_array_equal(found(spikes()).membrane, expected(spikes()).membrane)


def test_delays_are_those_of_the_layers_or_of_the_network() -> None:
    network = {**SPEC["network"], "delay": 2}
    assert trained_network({**SPEC, "network": network}, weights()).network.delays == (0, 2)
    layers = [{**network["layers"][0], "delay": 3}]
    readout = {**network["readout"], "delay": None}
    spec = {**SPEC, "network": {**network, "layers": layers, "readout": readout}}
    assert trained_network(spec, weights()).network.delays == (3, 2)


def test_gradients_are_truncated_as_in_the_job() -> None:
    assert trained_network(SPEC, weights()).network.truncate is None
    spec = {**SPEC, "training": {"truncate_steps": 5}}
    assert trained_network(spec, weights()).network.truncate == 5


def test_integers_of_standardised_weights_are_not_standardised_again() -> None:
    network, arrays = SPEC["network"], weights()
    rule = Quantisation(bits=4)
    arrays["layer_1"] = quantise(arrays["layer_1"], rule).weights
    arrays["layer_1_recurrent"] = quantise(arrays["layer_1_recurrent"], rule).weights
    assert np.abs(arrays["layer_1"].mean(axis=0)).max() > 0.01
    layer = {**network["layers"][0], "standardised": True, "quantisation": vars(rule)}
    found = trained_network({**SPEC, "network": {**network, "layers": [layer]}}, arrays)
    plain = trained_network(SPEC, arrays)  # the arrays are the weights in use
    np.testing.assert_array_equal(found(spikes()).membrane, plain(spikes()).membrane)


def test_trained_constants_are_those_that_were_trained() -> None:
    decays = np.linspace(0.1, 1.0, 12, dtype=np.float32)
    thresholds = np.linspace(0.2, 1.3, 12, dtype=np.float32)
    arrays = {**weights(), "layer_1_decay": decays, "layer_1_threshold": thresholds}
    layer = trained_network(SPEC, arrays).network.layers[0]
    assert layer.capacity == 4
    np.testing.assert_allclose(layer.decay[:-1], decays[:-1])
    assert layer.decay[-1] < 1
    np.testing.assert_allclose(layer.threshold, np.maximum(thresholds, 0.5))


def test_adaptive_thresholds_are_those_of_the_spec_and_the_training() -> None:
    layer = {
        **SPEC["network"]["layers"][0],
        "adaptation": {"strength": [0.1] * 12, "decay": 0.9, "detach": True},
    }
    spec = {**SPEC, "network": {**SPEC["network"], "layers": [layer]}}
    strength = np.linspace(-0.1, 0.5, 12, dtype=np.float32)
    arrays = {**weights(), "layer_1_adaptation_strength": strength}
    lif = trained_network(spec, arrays).network.layers[0]
    np.testing.assert_allclose(lif.adaptation_strength, np.maximum(strength, 0))
    assert (lif.adaptation_decay, lif.detach_adaptation) == (0.9, True)
    del arrays["layer_1_adaptation_strength"]
    lif = trained_network(spec, arrays).network.layers[0]
    np.testing.assert_allclose(lif.adaptation_strength, 0.1)


@pytest.mark.parametrize("name", sorted(weights()))
def test_a_missing_array_is_named(name: str) -> None:
    arrays = weights()
    del arrays[name]
    with pytest.raises(ValueError, match=name):
        trained_network(SPEC, arrays)
