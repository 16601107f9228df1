"""The adjoint of random equations equals TensorFlow's automatic differentiation in float64."""

from __future__ import annotations

from random import Random
from typing import Any, List, Optional

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.equations.neuron import with_membrane
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.reference import equations_adjoint, run_equations
from ipulse_ops.surrogate import SuperSpike
from tests.equations import random_neuron
from tests.ops.equations.autodiff import spikes_of

SLOPE = 3.0


def check(seed: int, is_recurrent: bool = False, gate: Optional[float] = None) -> float:
    random, rng = Random(seed), np.random.default_rng(seed)
    neuron = random_neuron(random)
    layer = LayerEquations(
        with_membrane(neuron), 3, SuperSpike(SLOPE), recurrent=is_recurrent, gate=gate
    )
    current = rng.normal(0.5, 1.5, (6, 2, 3))
    by_spikes, by_membranes = rng.normal(size=current.shape), rng.normal(size=current.shape)
    recurrent = rng.normal(size=(3, 3)) if is_recurrent else None
    values = layer.values()
    trace = run_equations(layer, values, current, recurrent=recurrent)
    found = equations_adjoint(layer, values, trace, by_spikes, recurrent, by_membranes)
    variables = {name: tf.constant(value) for name, value in values.items()}
    entering = tf.constant(current)
    weights = tf.zeros([3, 3], tf.float64) if recurrent is None else tf.constant(recurrent)
    with tf.GradientTape() as tape:
        tape.watch([entering, weights, *variables.values()])
        sent = weights if is_recurrent else None
        above = float("-inf") if gate is None else gate
        membranes: List[Any] = []
        spikes = spikes_of(neuron, variables, entering, SLOPE, sent, above, membranes)
        loss = tf.reduce_sum(spikes * by_spikes) + tf.reduce_sum(tf.stack(membranes) * by_membranes)
    np.testing.assert_array_equal(spikes.numpy(), trace.x > 0, err_msg=f"seed {seed}")
    shown = trace.states[1:, -1]
    np.testing.assert_allclose(shown, membranes, rtol=1e-12, atol=1e-12, err_msg=f"seed {seed}")
    wanted = tape.gradient(loss, {"I": entering, "recurrent": weights, **variables})
    wanted = {name: grad for name, grad in wanted.items() if grad is not None}
    gradients = {"I": found.current, **found.parameters}
    if found.recurrent is not None:
        gradients["recurrent"] = found.recurrent
    for name, grad in gradients.items():
        expected = wanted[name].numpy() if name in wanted else np.zeros(grad.shape)
        np.testing.assert_allclose(grad, expected, rtol=1e-12, atol=1e-12, err_msg=f"seed {seed}")
    return float(trace.x.size and (trace.x > 0).mean())


def test_random_neurons() -> None:
    rates = [check(seed) for seed in range(4)]
    assert 0.02 < np.mean(rates) < 0.98


def test_random_neurons_that_send_to_each_other() -> None:
    rates = [check(seed, is_recurrent=True) for seed in range(4, 7)]
    assert 0.02 < np.mean(rates) < 0.98


def test_a_gate_stops_the_derivatives_of_spikes() -> None:
    rates = [check(seed, is_recurrent=seed % 2 == 1, gate=-0.5) for seed in range(7, 11)]
    assert 0.02 < np.mean(rates) < 0.98


@pytest.mark.verify
def test_many_random_neurons() -> None:
    for seed in range(100, 600):
        check(seed, is_recurrent=seed % 2 == 1, gate=-0.4 if seed % 3 == 0 else None)
