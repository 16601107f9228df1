"""Equations of the known neurons equal the hand-written layers."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.equations.neuron import with_membrane
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.keras import LIF, LIFLayer
from ipulse_ops.keras.equations_layer import EquationsLayer
from tests.equations import lif, neuron_document, neuron_of

STEPS, BATCH, INPUTS, NEURONS = 30, 7, 20, 33
GAIN = 10.0


def _alif() -> Dict[str, Any]:
    states = [
        {"name": "u", "update": "decay * u + scale * I", "reset": "where(r, 0, u)"},
        {"name": "a", "reset": "rho * a + r"},
    ]
    parameters = [
        {"name": "decay", "value": 0.9},
        {"name": "scale", "value": GAIN * (1 - 0.9)},
        {"name": "rho", "value": 0.95},
        {"name": "beta", "value": 0.3},
        {"name": "theta", "value": 1.0},
    ]
    return neuron_document(states, "u - (theta + beta * a)", parameters)


def _cuba() -> Dict[str, Any]:
    states = [
        {"name": "u", "update": "0.9 * u + scale * new(i)", "reset": "where(r, 0, u)"},
        {"name": "i", "update": "slow * i + (1 - slow) * I"},
    ]
    parameters = [
        {"name": "scale", "value": GAIN * (1 - 0.9)},
        {"name": "slow", "value": 0.75},
    ]
    return neuron_document(states, "u - 1", parameters)


def _if() -> Dict[str, Any]:
    document = lif("subtract", gain=GAIN)
    document["parameters"][0]["value"] = 1.0
    return document


CASES: Dict[str, Tuple[Dict[str, Any], LIF, str]] = {
    "zero": (lif(gain=GAIN * (1 - 0.9)), LIF(NEURONS, 0.9, gain=GAIN), "zero"),
    "subtract": (lif("subtract", gain=GAIN * (1 - 0.9)), LIF(NEURONS, 0.9, gain=GAIN), "subtract"),
    "none": (lif("none", gain=GAIN * (1 - 0.9)), LIF(NEURONS, 0.9, gain=GAIN), "none"),
    "integrate and fire": (_if(), LIF(NEURONS, 1.0, gain=GAIN), "subtract"),
    "adaptive": (
        _alif(),
        LIF(NEURONS, 0.9, gain=GAIN, adaptation_strength=0.3, adaptation_decay=0.95),
        "zero",
    ),
    "synapse": (_cuba(), LIF(NEURONS, 0.9, gain=GAIN, synapse_decay=0.75), "zero"),
    "recurrent": (
        lif(gain=GAIN * (1 - 0.9)),
        LIF(NEURONS, 0.9, gain=GAIN, recurrent=True),
        "zero",
    ),
    "gated": (
        lif(gain=GAIN * (1 - 0.9)),
        LIF(NEURONS, 0.9, gain=GAIN, second_threshold=0.5),
        "zero",
    ),
}


QUICK = ("zero", "adaptive", "recurrent", "gated")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.verify) for name in CASES],
)
@pytest.mark.parametrize("shows_membranes", [False, True])
@pytest.mark.sample(1)
def test_they_are_equal(name: str, shows_membranes: bool) -> None:
    document, neurons, reset = CASES[name]
    rng = np.random.default_rng(5)
    dense = rng.random((STEPS, BATCH, INPUTS)) < 0.1
    counts = dense.sum(axis=2).astype(np.float32)
    ids = np.argsort(~dense, axis=2, kind="stable").astype(np.float32)
    weights = rng.normal(0, 0.3, (INPUTS, NEURONS)).astype(np.float32)
    weights = np.round(weights * 1024) / 1024 if neurons.recurrent else weights
    by_slots = tf.constant(rng.normal(size=(STEPS, BATCH, NEURONS)), tf.float32)
    gate = None if neurons.second_threshold is None else neurons.second_threshold - 1.0
    neuron = with_membrane(neuron_of(document)) if shows_membranes else neuron_of(document)
    equations = LayerEquations(neuron, NEURONS, recurrent=neurons.recurrent, gate=gate)
    # Multiples of 2^-10: sums are exact in any order.
    again = np.round(rng.normal(0, 0.1, (NEURONS, NEURONS)) * 1024) / 1024
    kernels = [weights, again.astype(np.float32)][: 2 if neurons.recurrent else 1]
    layers = [
        EquationsLayer(INPUTS, equations, threads=2),
        LIFLayer(INPUTS, neurons, reset=reset),
    ]
    found = []
    for layer in layers:
        layer.set_kernels(kernels)
        entering = tf.constant(ids)
        with tf.GradientTape() as tape:
            tape.watch(entering)
            spikes = layer(entering, tf.constant(counts), training=True)
            loss = tf.reduce_sum(by_slots * spikes.ids)
            membrane = layer.run(entering, tf.constant(counts), True).membrane
            if shows_membranes:
                loss += tf.reduce_sum(by_slots * membrane)
        variables = [entering, *layer.kernels]
        found.append((spikes, membrane, tape.gradient(loss, variables)))
    (own, membrane, own_grads), (known, known_membrane, known_grads) = found
    assert (membrane is not None) is shows_membranes
    if shows_membranes:
        np.testing.assert_allclose(membrane, known_membrane, rtol=1e-5, atol=1e-6)
    assert own.counts.numpy()[..., 0].sum() > 100
    np.testing.assert_array_equal(own.ids, known.ids)
    np.testing.assert_array_equal(own.counts, known.counts)
    # The gradient of the input spikes sums over this layer's neurons, that of the weights over
    # steps and samples: in other orders than in the kernels of the hand-written layer.
    for own_grad, known_grad in zip(own_grads, known_grads):
        scale = max(1.0, np.abs(known_grad).max())
        np.testing.assert_allclose(own_grad, known_grad, rtol=1e-5, atol=1e-6 * scale)


@pytest.mark.old_python
@pytest.mark.sample(0)
def test_gradients_do_not_depend_on_training() -> None:
    layer = EquationsLayer(INPUTS, LayerEquations(neuron_of(_alif()), NEURONS))
    rng = np.random.default_rng(6)
    layer.set_kernels([rng.normal(0, 1, (INPUTS, NEURONS)).astype(np.float32)])
    ids = tf.constant(rng.integers(0, INPUTS, (STEPS, BATCH, 3)), tf.int32)
    counts = tf.fill([STEPS, BATCH], 3)
    by_slots = tf.constant(rng.normal(size=(STEPS, BATCH, NEURONS)), tf.float32)
    found = []
    for training in (True, False):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(by_slots * layer(ids, counts, training=training).ids)
        found.append(tape.gradient(loss, layer.kernels[0]).numpy())
    assert found[0].any()
    np.testing.assert_array_equal(*found)
